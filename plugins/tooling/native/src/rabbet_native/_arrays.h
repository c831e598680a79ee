/* What frames are made of: exceptions, leaves of arguments, and arrays of results. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#define FEW 32        /* leaves that need no memory of their own */
#define MOST_SHAPES 8 /* structures that are tried one by one */

enum { TUPLE, LIST, DICT, NOTHING };

static PyTypeObject *array_type, *spec_type;
static Py_ssize_t at_raw, at_spec, at_aval, at_spec_aval;
static PyObject *by_handler, *fold, *shape_of, *shape_of_form, *flatten, *give_back;
static PyObject *s_interpreter, *s_traced_key, *s_consume, *s_form, *s_aval, *s_captured, *s_steady;
static PyObject *s_sure, *s_table, *s_depth, *s_is_ready, *s_is_deleted, *s_reading, *s_shapes, *s_spec, *s_raw, *s_array;

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

/* -------------------------------------------------------------------------------------------- the frame */

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *dict, *weakrefs;
    PyObject *programs, *settings, *context, *evaluation, *traced, *slowly, *of_others, *of_trees;
    PyObject *trees, *named, *fixed, *by_count, *names, *tree_shapes, *named_shapes, *unread, *later, *convert, *converted;
} Frame;

typedef struct {
    PyObject **at; /* arrays, or what `later` made, each with a reference */
    Py_ssize_t count, room;
    PyObject *few[FEW];
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

/* Whether this is a NumPy array at a place which some program does not read: 1, 0, -1. */
static int is_read_later(Frame *f, Leaves *leaves, PyObject *x)
{
    if (f->unread == Py_None || PySet_GET_SIZE(f->unread) == 0 || strcmp(Py_TYPE(x)->tp_name, "numpy.ndarray") != 0)
        return 0;
    PyObject *place = PyLong_FromSsize_t(leaves->count);
    int found = place == NULL ? -1 : PySet_Contains(f->unread, place);
    Py_XDECREF(place);
    return found;
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
    int is_later = is_read_later(f, leaves, x);
    PyObject *array = is_later < 0 ? NULL : PyObject_CallOneArg(is_later ? f->later : f->convert, x);
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

/* Collect the leaves of what has a shape: 1, 0 where it has another one, -1. A shape is None for a leaf, else
   (kind, children, keys). */
static int collect(Frame *f, Leaves *leaves, PyObject *shape, PyObject *x)
{
    if (shape == Py_None)
        return leaves_add(f, leaves, x);
    PyObject *children = PyTuple_GET_ITEM(shape, 1);
    Py_ssize_t count = PyTuple_GET_SIZE(children);
    switch (PyLong_AsLong(PyTuple_GET_ITEM(shape, 0))) {
    case TUPLE:
        if (!PyTuple_CheckExact(x) || PyTuple_GET_SIZE(x) != count)
            return 0;
        for (Py_ssize_t i = 0; i < count; i++) {
            int found = collect(f, leaves, PyTuple_GET_ITEM(children, i), PyTuple_GET_ITEM(x, i));
            if (found <= 0)
                return found;
        }
        return 1;
    case LIST:
        if (!PyList_CheckExact(x) || PyList_GET_SIZE(x) != count)
            return 0;
        for (Py_ssize_t i = 0; i < count; i++) {
            if (i >= PyList_GET_SIZE(x)) /* converting a number may run what changes it */
                return 0;
            PyObject *item = Py_NewRef(PyList_GET_ITEM(x, i));
            int found = collect(f, leaves, PyTuple_GET_ITEM(children, i), item);
            Py_DECREF(item);
            if (found <= 0)
                return found;
        }
        return 1;
    case DICT:
        if (!PyDict_CheckExact(x) || PyDict_GET_SIZE(x) != count)
            return 0;
        for (Py_ssize_t i = 0; i < count; i++) {
            PyObject *item = PyDict_GetItemWithError(x, PyTuple_GET_ITEM(PyTuple_GET_ITEM(shape, 2), i));
            if (item == NULL)
                return PyErr_Occurred() ? -1 : 0;
            Py_INCREF(item);
            int found = collect(f, leaves, PyTuple_GET_ITEM(children, i), item);
            Py_DECREF(item);
            if (found <= 0)
                return found;
        }
        return 1;
    case NOTHING:
        return x == Py_None;
    }
    return 0;
}

/* Collect from the arguments of a call, which are no tuple yet. */
static int collect_arguments(Frame *f, Leaves *leaves, PyObject *shape, PyObject *const *args, Py_ssize_t count)
{
    PyObject *children = PyTuple_GET_ITEM(shape, 1);
    if (PyTuple_GET_SIZE(children) != count)
        return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        int found = collect(f, leaves, PyTuple_GET_ITEM(children, i), args[i]);
        if (found <= 0)
            return found;
    }
    return 1;
}

/* The program for these arrays, with a reference; NULL where there is none, or with an exception. */
static PyObject *look_up(Frame *f, PyObject *programs, Leaves *leaves)
{
    PyObject *traced_key = PyObject_GetAttr(f->settings, s_traced_key);
    if (traced_key == NULL)
        return NULL;
    PyObject *key = PyTuple_New(leaves->count + 1);
    if (key == NULL) {
        Py_DECREF(traced_key);
        return NULL;
    }
    PyTuple_SET_ITEM(key, leaves->count, traced_key);
    for (Py_ssize_t i = 0; i < leaves->count; i++) {
        PyObject *x = leaves->at[i];
        PyObject *spec = Py_TYPE(x) == array_type ? Py_NewRef(SLOT(x, at_spec)) : PyObject_GetAttr(x, s_spec);
        if (spec == NULL) {
            Py_DECREF(key);
            return NULL;
        }
        PyTuple_SET_ITEM(key, i, spec);
    }
    PyObject *found = PyDict_GetItemWithError(programs, key);
    Py_XINCREF(found);
    Py_DECREF(key);
    return found;
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

static PyObject *new_array(PyObject *raw, PyObject *spec)
{
    PyObject *aval = aval_of(spec);
    if (aval == NULL)
        return NULL;
    PyObject *array = array_type->tp_alloc(array_type, 0);
    if (array == NULL) {
        Py_DECREF(aval);
        return NULL;
    }
    SLOT(array, at_raw) = Py_NewRef(raw);
    SLOT(array, at_spec) = Py_NewRef(spec);
    SLOT(array, at_aval) = aval;
    return array;
}

/* Put arrays together as a shape says; takes them out of `*next` on. */
static PyObject *put_together(PyObject *shape, PyObject ***next)
{
    if (shape == Py_None) {
        PyObject *leaf = **next;
        **next = NULL;
        ++*next;
        return leaf;
    }
    PyObject *children = PyTuple_GET_ITEM(shape, 1), *made = NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(children);
    long kind = PyLong_AsLong(PyTuple_GET_ITEM(shape, 0));
    if (kind == NOTHING)
        return Py_NewRef(Py_None);
    made = kind == TUPLE ? PyTuple_New(count) : kind == LIST ? PyList_New(count) : PyDict_New();
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        PyObject *child = put_together(PyTuple_GET_ITEM(children, i), next);
        int failed = child == NULL;
        if (failed)
            ;
        else if (kind == TUPLE)
            PyTuple_SET_ITEM(made, i, child);
        else if (kind == LIST)
            PyList_SET_ITEM(made, i, child);
        else {
            failed = PyDict_SetItem(made, PyTuple_GET_ITEM(PyTuple_GET_ITEM(shape, 2), i), child) < 0;
            Py_DECREF(child);
        }
        if (failed)
            Py_CLEAR(made);
    }
    return made;
}

/* The result made of the raw arrays of a program, as `build` says; its `form` is a list of placements, of what
   puts arrays together, and of the shape of that, None where nobody has asked. */
static PyObject *results_of(PyObject *build, PyObject *raws)
{
    PyObject *form = PyObject_GetAttr(build, s_form);
    if (form == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return NULL;
        PyErr_Clear();
        return PyObject_CallOneArg(build, raws);
    }
    PyObject *specs = PyList_GET_ITEM(form, 0), *assemble = PyList_GET_ITEM(form, 1), *out = NULL;
    Py_ssize_t count = PyList_GET_SIZE(specs), made = 0;
    if (PyList_GET_SIZE(raws) != count) {
        Py_DECREF(form);
        return PyObject_CallOneArg(build, raws);
    }
    PyObject *few[FEW], **arrays = few;
    if (count > FEW && (arrays = PyMem_Malloc(count * sizeof(PyObject *))) == NULL) {
        Py_DECREF(form);
        return PyErr_NoMemory();
    }
    PyObject *shape = PyList_GET_ITEM(form, 2);
    if (shape == Py_None) {
        shape = PyObject_CallOneArg(shape_of_form, assemble);
        if (shape == NULL)
            goto end;
        PyList_SetItem(form, 2, shape);
    }
    for (; made < count; made++) {
        arrays[made] = new_array(PyList_GET_ITEM(raws, made), PyList_GET_ITEM(specs, made));
        if (arrays[made] == NULL)
            goto end;
    }
    if (shape == (PyObject *)&PyTuple_Type) {
        out = PyTuple_New(count);
        if (out != NULL)
            for (Py_ssize_t i = 0; i < count; i++)
                PyTuple_SET_ITEM(out, i, Py_NewRef(arrays[i]));
    }
    else if (PyTuple_Check(shape)) {
        PyObject **next = arrays;
        out = put_together(shape, &next);
    }
    else {
        PyObject *list = PyList_New(count);
        if (list != NULL) {
            for (Py_ssize_t i = 0; i < count; i++)
                PyList_SET_ITEM(list, i, Py_NewRef(arrays[i]));
            out = shape == (PyObject *)&PyList_Type ? Py_NewRef(list)
                                                    : PyObject_CallOneArg(shape == Py_False ? assemble : shape, list);
            Py_DECREF(list);
        }
    }
end:
    for (Py_ssize_t i = 0; i < made; i++)
        Py_XDECREF(arrays[i]);
    if (arrays != few)
        PyMem_Free(arrays);
    Py_DECREF(form);
    return out;
}
