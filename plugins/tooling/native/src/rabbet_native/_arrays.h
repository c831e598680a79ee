/* What frames are made of: exceptions, leaves of arguments, and arrays of results. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#define FEW 32         /* leaves that need no memory of their own */
#define MOST_LENT 8    /* NumPy arrays of a call in memory that is lent */
#define MOST_MISSED 8  /* then a frame puts NumPy arrays on the device always */
#define MOST_SHAPES 8  /* structures that are tried one by one */
#define MOST_CALLING 2 /* of those, with classes whose users take them apart */

enum { TUPLE, LIST, DICT, NOTHING, NAMED, FIELDS, CUSTOM };

static PyTypeObject *array_type, *spec_type;
static Py_ssize_t at_raw, at_spec, at_aval, at_spec_aval;
static PyObject *by_handler, *fold, *shape_of, *shape_of_form, *flatten, *give_back, *nodes;
static PyObject *s_interpreter, *s_traced_key, *s_consume, *s_form, *s_aval, *s_captured, *s_steady;
static PyObject *s_depth, *s_is_ready, *s_is_deleted, *s_reading, *s_shapes, *s_spec, *s_raw, *s_array;
static PyObject *s_donating, *s_delete, *s_dtype, *s_shape, *s_guard;

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

/* ----------------------------------------------------------------------------------------- exceptions */

static PyObject *take_error(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    PyErr_NormalizeException(&kind, &value, &traceback);
    if (traceback != NULL)
        PyException_SetTraceback(value, traceback);
    Py_XDECREF(kind);
    Py_XDECREF(traceback);
    return value;
#endif
}

static void give_error(PyObject *value) /* takes the reference */
{
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(value);
#else
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(value)), value, PyException_GetTraceback(value));
#endif
}

/* Whether what was raised has another way to the same end: then it is forgotten. What is no Exception, and
   what a signal's handler raised, has to go on. */
static int another_way(void)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return 0;
    PyObject *error = take_error();
    PyObject *traceback = PyException_GetTraceback(error);
    if (traceback == NULL) { /* raised by C alone */
        Py_DECREF(error);
        return 1;
    }
    Py_DECREF(traceback);
    PyObject *answer = PyObject_CallOneArg(by_handler, error);
    if (answer == NULL) {
        Py_DECREF(error);
        return 0;
    }
    int goes_on = answer == Py_True;
    Py_DECREF(answer);
    if (goes_on)
        give_error(error);
    else
        Py_DECREF(error);
    return !goes_on;
}

/* Show the user's frames only. */
static void fold_error(void)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return;
    PyObject *error = take_error();
    PyObject *same = PyObject_CallOneArg(fold, error);
    if (same == NULL) {
        Py_DECREF(error);
        return;
    }
    Py_DECREF(same);
    give_error(error);
}

#include "_threads.h"

/* -------------------------------------------------------------------------------------------- the frame */

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *dict, *weakrefs;
    PyObject *programs, *settings, *context, *evaluation, *traced, *slowly, *of_others, *of_trees;
    PyObject *trees, *named, *fixed, *by_count, *names, *tree_shapes, *named_shapes, *unread, *later, *put_off;
    PyObject *lend, *lent, *whole, *convert, *converted;
    int missed; /* how often, one after the other, what was lent was of no use */
} Frame;

typedef struct {
    PyObject **at; /* arrays, or what `later` made, each with a reference */
    Py_ssize_t count, room;
    PyObject *few[FEW];
    PyObject *traced_key; /* of the settings, NULL until it is asked for */
    PyObject *lent[MOST_LENT]; /* what `lent` of the frame has, while a program runs on it */
    Py_ssize_t places[MOST_LENT], lent_count;
} Leaves;

static void leaves_clear(Leaves *leaves)
{
    for (Py_ssize_t i = 0; i < leaves->count; i++)
        Py_DECREF(leaves->at[i]);
    leaves->count = 0;
    if (leaves->at != leaves->few)
        PyMem_Free(leaves->at);
    leaves->at = leaves->few;
    leaves->room = FEW;
    while (leaves->lent_count > 0)
        Py_DECREF(leaves->lent[--leaves->lent_count]);
    Py_CLEAR(leaves->traced_key);
}

/* The key of the settings for this call; borrowed, or NULL. */
static inline PyObject *traced_key_of(Frame *f, Leaves *leaves)
{
    if (leaves->traced_key == NULL)
        leaves->traced_key = get_local(&of_settings, f->settings, s_traced_key);
    return leaves->traced_key;
}

static int leaves_more(Leaves *leaves)
{
    Py_ssize_t room = 2 * leaves->room;
    PyObject **at = PyMem_Malloc(room * sizeof(PyObject *));
    if (at == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(at, leaves->at, leaves->count * sizeof(PyObject *));
    if (leaves->at != leaves->few)
        PyMem_Free(leaves->at);
    leaves->at = at;
    leaves->room = room;
    return 0;
}

static Py_ssize_t offset_in(PyObject *type, const char *name)
{
    PyObject *descriptor = PyObject_GetAttrString(type, name);
    if (descriptor == NULL)
        return -1;
    Py_ssize_t offset = -1;
    if (Py_IS_TYPE(descriptor, &PyMemberDescr_Type))
        offset = ((PyMemberDescrObject *)descriptor)->d_member->offset;
    else
        PyErr_Format(PyExc_TypeError, "%R has no slot %s", type, name);
    Py_DECREF(descriptor);
    return offset;
}

/* What stands for NumPy arrays that were put off, by the place of a leaf in calls of this frame: `put_off` has
   tuples of their dtype, their shape, the placement, and the key of the settings by which that was found (the
   default device is among them). */
enum { DTYPE, SHAPE, PLACEMENT, TRACED_KEY, PUT_OFF_PARTS };

static PyTypeObject *later_type;
static Py_ssize_t at_later_host, at_later_spec;

/* NumPy's arrays as they lie in memory since NumPy 1.7; `check_layout` compares with what Python says of one. */
typedef struct {
    PyObject_HEAD
    char *data;
    int ndim;
    Py_ssize_t *dimensions, *strides;
    PyObject *base, *dtype;
} NumpyArray;

static PyTypeObject *numpy_type;
static int layout_is_known; /* 1, -1 where it is another one, 0 until an array with dimensions was seen */

static void check_layout(PyObject *x, PyObject *dtype, PyObject *shape)
{
    NumpyArray *array = (NumpyArray *)x;
    Py_ssize_t count = PyTuple_CheckExact(shape) ? PyTuple_GET_SIZE(shape) : 0;
    if (layout_is_known != 0 || count == 0)
        return;
    int same = numpy_type->tp_basicsize >= (Py_ssize_t)sizeof(NumpyArray) && array->dtype == dtype &&
               array->ndim == count && array->dimensions != NULL;
    for (Py_ssize_t i = 0; same && i < count; i++)
        same = array->dimensions[i] == PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
    layout_is_known = same ? 1 : -1;
}

/* Whether an array has the dtype and shape that are remembered: 1, 0, -1. */
static int is_like(PyObject *x, PyObject *before)
{
    PyObject *shape = PyTuple_GET_ITEM(before, SHAPE);
    if (layout_is_known > 0 && PyTuple_CheckExact(shape)) {
        NumpyArray *array = (NumpyArray *)x;
        int same = array->dtype == PyTuple_GET_ITEM(before, DTYPE) && array->ndim == PyTuple_GET_SIZE(shape);
        for (Py_ssize_t i = 0; same && i < array->ndim; i++)
            same = array->dimensions[i] == PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
        return same;
    }
    PyObject *dtype = PyObject_GetAttr(x, s_dtype), *own = dtype == NULL ? NULL : PyObject_GetAttr(x, s_shape);
    int same = own == NULL ? -1 : dtype != PyTuple_GET_ITEM(before, DTYPE) ? 0 : PyObject_RichCompareBool(own, shape, Py_EQ);
    Py_XDECREF(own);
    Py_XDECREF(dtype);
    return same;
}

/* Whether what is remembered of a place is true of an array: 1, 0, -1. */
static int is_as_before(Frame *f, Leaves *leaves, PyObject *before, PyObject *x)
{
    int same = is_like(x, before);
    if (same <= 0)
        return same;
    PyObject *key = traced_key_of(f, leaves);
    if (key != PyTuple_GET_ITEM(before, TRACED_KEY))
        return key == NULL ? -1 : 0;
    PyObject *guard = get_local(&of_settings, f->settings, s_guard);
    Py_XDECREF(guard); /* compared, and nothing else */
    return guard == NULL ? -1 : guard == Py_None;
}

/* Remember what `later` made of an array: 0, or -1. */
static int remember_put_off(Frame *f, Leaves *leaves, PyObject *place, PyObject *later, PyObject *dtype, PyObject *shape)
{
    if (later_type == NULL) { /* the first one */
        Py_ssize_t host = offset_in((PyObject *)Py_TYPE(later), "host");
        if (host < 0 || (at_later_spec = offset_in((PyObject *)Py_TYPE(later), "spec")) < 0) {
            PyErr_Clear(); /* another core: it is asked each time */
            return 0;
        }
        at_later_host = host;
        later_type = (PyTypeObject *)Py_NewRef(Py_TYPE(later));
    }
    if (Py_TYPE(later) != later_type || SLOT(later, at_later_spec) == NULL)
        return 0;
    PyObject *key = traced_key_of(f, leaves);
    if (key == NULL || key == Py_None) /* it is None until somebody asks for it */
        return key == NULL ? -1 : 0;
    PyObject *known = PyTuple_Pack(PUT_OFF_PARTS, dtype, shape, SLOT(later, at_later_spec), key);
    int failed = known == NULL || PyDict_SetItem(f->put_off, place, known) < 0;
    Py_XDECREF(known);
    return failed ? -1 : 0;
}

/* What stands for a NumPy array, or its array, with a reference. */
static PyObject *put_off(Frame *f, Leaves *leaves, PyObject *place, PyObject *x)
{
    PyObject *before = PyDict_GetItemWithError(f->put_off, place);
    if (before != NULL) {
        PyObject *made = NULL;
        Py_INCREF(before);
        int same = is_as_before(f, leaves, before, x);
        if (same > 0 && (made = later_type->tp_alloc(later_type, 0)) != NULL) {
            SLOT(made, at_later_host) = Py_NewRef(x);
            SLOT(made, at_later_spec) = Py_NewRef(PyTuple_GET_ITEM(before, PLACEMENT));
        }
        Py_DECREF(before);
        if (same != 0)
            return made;
        f->missed++;
    }
    if (PyErr_Occurred())
        return NULL;
    PyObject *made = PyObject_CallOneArg(f->later, x);
    if (made == NULL || Py_TYPE(made) == array_type)
        return made;
    PyObject *dtype = PyObject_GetAttr(x, s_dtype), *shape = dtype == NULL ? NULL : PyObject_GetAttr(x, s_shape);
    if (shape != NULL)
        check_layout(x, dtype, shape);
    if (shape == NULL || remember_put_off(f, leaves, place, made, dtype, shape) < 0)
        Py_CLEAR(made);
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    return made;
}

static int is_numpy(PyTypeObject *type)
{
    if (numpy_type == NULL && strcmp(type->tp_name, "numpy.ndarray") == 0)
        numpy_type = (PyTypeObject *)Py_NewRef(type);
    return type == numpy_type;
}

/* The place of the next leaf, where this is a NumPy array at one which some program does not read, or for which
   memory is lent: 1, 0, -1. */
static int is_read_later(Frame *f, Leaves *leaves, PyObject *x, PyObject **place)
{
    int lends = f->lend != Py_None && f->missed < MOST_MISSED;
    if (f->unread == Py_None || (PySet_GET_SIZE(f->unread) == 0 && !lends) || !is_numpy(Py_TYPE(x)))
        return 0;
    *place = PyLong_FromSsize_t(leaves->count);
    int is_later = *place == NULL ? -1 : PySet_Contains(f->unread, *place);
    if (is_later == 0 && lends) {
        int is_whole = PySet_Contains(f->whole, *place);
        is_later = is_whole < 0 ? -1 : !is_whole;
    }
    return is_later;
}

/* Add an array, or what is made of a number: 1; 0 for anything else; -1 with an exception. */
static inline int leaves_add(Frame *f, Leaves *leaves, PyObject *x)
{
    if (leaves->count == leaves->room && leaves_more(leaves) < 0)
        return -1;
    if (Py_TYPE(x) == array_type) {
        if (SLOT(x, at_raw) == NULL || SLOT(x, at_spec) == NULL)
            return 0;
        leaves->at[leaves->count++] = Py_NewRef(x);
        return 1;
    }
    int is_number = PySet_Contains(f->converted, (PyObject *)Py_TYPE(x));
    if (is_number <= 0)
        return is_number;
    PyObject *place = NULL, *array = NULL;
    int is_later = is_read_later(f, leaves, x, &place);
    if (is_later >= 0)
        array = is_later ? put_off(f, leaves, place, x) : PyObject_CallOneArg(f->convert, x);
    Py_XDECREF(place);
    if (array == NULL)
        return -1;
    if (is_later && Py_TYPE(array) != array_type) {
        leaves->at[leaves->count++] = array;
        return 1;
    }
    if (Py_TYPE(array) != array_type || SLOT(array, at_raw) == NULL || SLOT(array, at_spec) == NULL) {
        Py_DECREF(array);
        return 0;
    }
    leaves->at[leaves->count++] = array;
    return 1;
}

static PyObject *as_list(Leaves *leaves)
{
    PyObject *list = PyList_New(leaves->count);
    for (Py_ssize_t i = 0; list != NULL && i < leaves->count; i++)
        PyList_SET_ITEM(list, i, Py_NewRef(leaves->at[i]));
    return list;
}

/* The program for these arrays, with a reference; NULL where there is none, or with an exception. */
static PyObject *look_up(Frame *f, PyObject *programs, Leaves *leaves)
{
    PyObject *traced_key = traced_key_of(f, leaves), *key = traced_key == NULL ? NULL : PyTuple_New(leaves->count + 1);
    if (key == NULL)
        return NULL;
    PyTuple_SET_ITEM(key, leaves->count, Py_NewRef(traced_key));
    for (Py_ssize_t i = 0; i < leaves->count; i++) {
        PyObject *x = leaves->at[i];
        PyObject *spec = Py_TYPE(x) == array_type   ? Py_NewRef(SLOT(x, at_spec))
                         : Py_TYPE(x) == later_type ? Py_XNewRef(SLOT(x, at_later_spec))
                                                    : PyObject_GetAttr(x, s_spec);
        if (spec == NULL) {
            Py_DECREF(key);
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_SystemError, "a NumPy array that was put off, without its placement");
            return NULL;
        }
        PyTuple_SET_ITEM(key, i, spec);
    }
    PyObject *found = PyDict_GetItemWithError(programs, key);
    Py_XINCREF(found);
    Py_DECREF(key);
    if (found == NULL) { /* perhaps since the devices are others */
        PyDict_Clear(f->put_off);
        PyDict_Clear(f->lent);
        PySet_Clear(f->whole);
    }
    return found;
}

static PyObject *aval_of(PyObject *spec)
{
    if (spec_type == NULL) { /* the first one */
        at_spec_aval = offset_in((PyObject *)Py_TYPE(spec), "aval");
        if (at_spec_aval < 0)
            return NULL;
        spec_type = (PyTypeObject *)Py_NewRef(Py_TYPE(spec));
    }
    if (Py_TYPE(spec) == spec_type) {
        PyObject *aval = SLOT(spec, at_spec_aval);
        if (aval != NULL)
            return Py_NewRef(aval);
    }
    return PyObject_GetAttr(spec, s_aval);
}

/* An attribute that was put on a function of Python; borrowed. NULL where there is none, or with an exception. */
static PyObject *attribute_of(PyObject *function, PyObject *name)
{
    if (!PyFunction_Check(function))
        return NULL;
    PyObject *dict = ((PyFunctionObject *)function)->func_dict;
    return dict == NULL ? NULL : PyDict_GetItemWithError(dict, name);
}

/* An array of a raw one, of which it takes the reference. */
static PyObject *wrapped(PyObject *raw, PyObject *spec)
{
    PyObject *aval = aval_of(spec), *array = aval == NULL ? NULL : array_type->tp_alloc(array_type, 0);
    if (array == NULL) {
        Py_XDECREF(aval);
        Py_DECREF(raw);
        return NULL;
    }
    SLOT(array, at_raw) = raw;
    SLOT(array, at_spec) = Py_NewRef(spec);
    SLOT(array, at_aval) = aval;
    return array;
}

static PyObject *new_array(PyObject *raw, PyObject *spec)
{
    return wrapped(Py_NewRef(raw), spec);
}
