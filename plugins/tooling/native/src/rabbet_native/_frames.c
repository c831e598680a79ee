/* The frame of a function that `jit` returns: what rabbet.runtime.execution.dispatch.function does in Python.

   Everything that is not known here goes to the functions that jit hands over, as the frame in Python does:
   `traced` under a transformation, `slowly` for a program that is not known yet, `of_others` for arguments that
   are neither arrays, numbers nor pytrees of both made of tuples, lists and dicts.
*/
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#define FEW 32        /* leaves that need no memory of their own */
#define MOST_SHAPES 8 /* structures that are tried one by one */

enum { TUPLE, LIST, DICT, NOTHING };

static PyTypeObject *array_type, *spec_type;
static Py_ssize_t at_raw, at_spec, at_aval, at_spec_aval;
static PyObject *by_handler, *fold, *shape_of, *shape_of_form;
static PyObject *s_interpreter, *s_traced_key, *s_consume, *s_form, *s_aval;

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
    PyObject *trees, *named, *convert, *converted;
} Frame;

typedef struct {
    PyObject **at; /* arrays, each with a reference */
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
    PyObject *array = PyObject_CallOneArg(f->convert, x);
    if (array == NULL)
        return -1;
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
    for (Py_ssize_t i = 0; i < leaves->count; i++)
        PyTuple_SET_ITEM(key, i, Py_NewRef(SLOT(leaves->at[i], at_spec)));
    PyTuple_SET_ITEM(key, leaves->count, traced_key);
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
            out = shape == (PyObject *)&PyList_Type ? Py_NewRef(list) : PyObject_CallOneArg(assemble, list);
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

static PyObject *as_list(Leaves *leaves)
{
    PyObject *list = PyList_New(leaves->count);
    for (Py_ssize_t i = 0; list != NULL && i < leaves->count; i++)
        PyList_SET_ITEM(list, i, Py_NewRef(leaves->at[i]));
    return list;
}

/* Run a program on arrays: `found` is a `Known` of rabbet.runtime.execution.dispatch. */
static PyObject *run(PyObject *found, Leaves *leaves)
{
    PyObject *execute = PyTuple_GET_ITEM(found, 0), *handlers = PyTuple_GET_ITEM(found, 1);
    PyObject *spec = PyTuple_GET_ITEM(found, 2), *out = NULL;
    int many = execute == Py_None;
    if (!many || spec != Py_None) {
        if (many) {
            execute = PyTuple_GET_ITEM(handlers, 0);
            handlers = PyTuple_GET_ITEM(handlers, 1);
        }
        PyObject *raws = PyList_New(leaves->count);
        if (raws == NULL)
            return NULL;
        for (Py_ssize_t i = 0; i < leaves->count; i++) {
            PyObject *raw = SLOT(leaves->at[i], at_raw);
            PyList_SET_ITEM(raws, i, Py_NewRef(raw == NULL ? Py_None : raw));
        }
        PyObject *given = PyObject_CallOneArg(execute, raws), *results = NULL;
        Py_DECREF(raws);
        if (given != NULL) {
            PyObject *operands[] = {given, handlers};
            results = PyObject_VectorcallMethod(s_consume, operands, 2, NULL);
            Py_DECREF(given);
        }
        if (results != NULL && PyList_CheckExact(results)) {
            if (many)
                out = results_of(spec, results);
            else if (PyList_GET_SIZE(results) > 0)
                out = new_array(PyList_GET_ITEM(results, 0), spec);
            else
                PyErr_SetString(PyExc_SystemError, "a program without its result");
            Py_DECREF(results);
            return out;
        }
        if (results != NULL) {
            PyErr_SetString(PyExc_SystemError, "results of a program that are no list");
            Py_DECREF(results);
            return NULL;
        }
        if (!another_way()) /* else run it again: it says what is wrong with the arguments */
            return NULL;
    }
    PyObject *list = as_list(leaves);
    if (list == NULL)
        return NULL;
    out = PyObject_CallOneArg(PyTuple_GET_ITEM(found, 3), list);
    Py_DECREF(list);
    return out;
}

static PyObject *as_tuple(PyObject *const *args, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    return tuple;
}

static PyObject *go_on(PyObject *function, PyObject *const *args, Py_ssize_t count, int with_kwargs)
{
    PyObject *out = NULL, *kwargs = NULL, *tuple = as_tuple(args, count);
    if (tuple == NULL)
        return NULL;
    if (!with_kwargs)
        out = PyObject_CallOneArg(function, tuple);
    else if ((kwargs = PyDict_New()) != NULL)
        out = PyObject_CallFunctionObjArgs(function, tuple, kwargs, NULL);
    Py_XDECREF(kwargs);
    Py_DECREF(tuple);
    return out;
}

/* Find the leaves of arguments in pytrees, and with them the program. 1 with `*found`, 0 where no structure
   that is known is that of the call, -1. `named` is the pair of args and kwargs, or NULL. `*found` is NULL where
   the structure is known and the program is not. */
static int in_pytrees(Frame *f, PyObject *trees, PyObject *const *args, Py_ssize_t count, PyObject *named,
                      Leaves *leaves, PyObject **found)
{
    /* `trees.shapes`: pairs of a structure and its programs, of which we make (shape, programs, structure). */
    PyObject *shapes = trees;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(shapes) && i < MOST_SHAPES; i++) {
        PyObject *item = Py_NewRef(PyList_GET_ITEM(shapes, i));
        if (PyTuple_GET_SIZE(item) == 2) {
            PyObject *known = PyObject_CallOneArg(shape_of, item);
            Py_DECREF(item);
            if (known == NULL)
                return -1;
            if (i >= PyList_GET_SIZE(shapes)) {
                Py_DECREF(known);
                return 0;
            }
            item = Py_NewRef(known);
            PyList_SetItem(shapes, i, known);
        }
        PyObject *shape = PyTuple_GET_ITEM(item, 0);
        int same = shape == Py_None ? 0
                   : named != NULL  ? collect(f, leaves, shape, named)
                                    : collect_arguments(f, leaves, shape, args, count);
        if (same > 0) {
            *found = look_up(f, PyTuple_GET_ITEM(item, 1), leaves);
            if (i > 0 && i < PyList_GET_SIZE(shapes) && PyList_GET_ITEM(shapes, i) == item) {
                PyObject *before = Py_NewRef(PyList_GET_ITEM(shapes, i - 1)); /* one place nearer */
                PyList_SetItem(shapes, i - 1, Py_NewRef(item));
                PyList_SetItem(shapes, i, before);
            }
            Py_DECREF(item);
            return *found == NULL && PyErr_Occurred() ? -1 : 1;
        }
        Py_DECREF(item);
        leaves_clear(leaves);
        if (same < 0)
            return -1;
    }
    return 0;
}

static PyObject *with_names(Frame *f, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    PyObject *out = NULL, *kwargs = PyDict_New(), *tuple = as_tuple(args, count), *both = NULL, *found = NULL;
    Leaves leaves = {.at = leaves.few, .count = 0, .room = FEW};
    if (kwargs == NULL || tuple == NULL)
        goto end;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++)
        if (PyDict_SetItem(kwargs, PyTuple_GET_ITEM(names, i), args[count + i]) < 0)
            goto end;
    if (f->named != Py_None && PyList_GET_SIZE(f->named) > 0) {
        both = PyTuple_Pack(2, tuple, kwargs);
        if (both == NULL)
            goto end;
        int known = in_pytrees(f, f->named, NULL, 0, both, &leaves, &found);
        if (known < 0 && !another_way())
            goto end;
        if (known > 0 && found != NULL) {
            out = run(found, &leaves);
            goto end;
        }
    }
    out = PyObject_CallFunctionObjArgs(f->slowly, tuple, kwargs, NULL);
end:
    leaves_clear(&leaves);
    Py_XDECREF(found);
    Py_XDECREF(both);
    Py_XDECREF(kwargs);
    Py_XDECREF(tuple);
    return out;
}

static PyObject *call(Frame *f, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    PyObject *interpreter = PyObject_GetAttr(f->context, s_interpreter);
    if (interpreter == NULL)
        return NULL;
    Py_DECREF(interpreter); /* compared, and nothing else */
    if (interpreter != f->evaluation)
        return PyObject_Vectorcall(f->traced, args, count, names);
    if (names != NULL && PyTuple_GET_SIZE(names) > 0)
        return with_names(f, args, count, names);
    PyObject *found = NULL, *out = NULL;
    Leaves leaves = {.at = leaves.few, .count = 0, .room = FEW};
    int known = 1;
    if (f->trees == Py_None) { /* static arguments */
        int is_fixed = PyObject_IsTrue(f->of_trees);
        if (is_fixed)
            return is_fixed < 0 ? NULL : go_on(f->of_others, args, count, 0);
    }
    if (f->trees != Py_None && PyList_GET_SIZE(f->trees) > 0)
        known = in_pytrees(f, f->trees, args, count, NULL, &leaves, &found);
    else {
        for (Py_ssize_t i = 0; known > 0 && i < count; i++)
            known = leaves_add(f, &leaves, args[i]);
        if (known > 0) {
            found = look_up(f, f->programs, &leaves);
            if (found == NULL && PyErr_Occurred())
                known = -1;
        }
    }
    if (known > 0 && found != NULL)
        out = run(found, &leaves);
    else if (known >= 0 || another_way())
        out = known > 0 ? go_on(f->slowly, args, count, 1) : go_on(f->of_others, args, count, 0);
    leaves_clear(&leaves);
    Py_XDECREF(found);
    return out;
}

static PyObject *frame_call(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    PyObject *out = call((Frame *)self, args, PyVectorcall_NARGS(count), names);
    if (out == NULL)
        fold_error();
    return out;
}

/* --------------------------------------------------------------------------------------------- its type */

static char *fields[] = {"programs", "settings", "context", "evaluation", "traced", "slowly", "of_others", "of_trees",
                         "trees", "named", "convert", "converted", NULL};

static PyObject *frame_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *programs, *settings, *context, *evaluation, *traced, *slowly, *of_others, *of_trees, *trees, *named;
    PyObject *convert, *converted;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OOOOOOOOOOO!", fields, &PyDict_Type, &programs, &settings,
                                     &context, &evaluation, &traced, &slowly, &of_others, &of_trees, &trees, &named,
                                     &convert, &PyFrozenSet_Type, &converted))
        return NULL;
    if ((trees != Py_None && !PyList_CheckExact(trees)) || (named != Py_None && !PyList_CheckExact(named))) {
        PyErr_SetString(PyExc_TypeError, "Frame: trees and named are lists, or None");
        return NULL;
    }
    if (array_type == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "Frame: setup(...) comes first");
        return NULL;
    }
    Frame *f = (Frame *)type->tp_alloc(type, 0);
    if (f == NULL)
        return NULL;
    f->vectorcall = frame_call;
    f->programs = Py_NewRef(programs);
    f->settings = Py_NewRef(settings);
    f->context = Py_NewRef(context);
    f->evaluation = Py_NewRef(evaluation);
    f->traced = Py_NewRef(traced);
    f->slowly = Py_NewRef(slowly);
    f->of_others = Py_NewRef(of_others);
    f->of_trees = Py_NewRef(of_trees);
    f->trees = Py_NewRef(trees);
    f->named = Py_NewRef(named);
    f->convert = Py_NewRef(convert);
    f->converted = Py_NewRef(converted);
    return (PyObject *)f;
}

static int frame_traverse(PyObject *self, visitproc visit, void *arg)
{
    Frame *f = (Frame *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(f->dict);
    for (PyObject **one = &f->programs; one <= &f->converted; one++)
        Py_VISIT(*one);
    return 0;
}

static int frame_clear(PyObject *self)
{
    Frame *f = (Frame *)self;
    Py_CLEAR(f->dict);
    /* What is called while this is taken apart finds nothing to call. */
    f->vectorcall = NULL;
    for (PyObject **one = &f->programs; one <= &f->converted; one++)
        Py_CLEAR(*one);
    return 0;
}

static PyObject *frame_tp_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    if (((Frame *)self)->vectorcall == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "a compiled function was called while it was taken apart");
        return NULL;
    }
    return PyVectorcall_Call(self, args, kwargs);
}

static void frame_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (((Frame *)self)->weakrefs != NULL)
        PyObject_ClearWeakRefs(self);
    frame_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef frame_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Frame, vectorcall), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(Frame, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Frame, weakrefs), READONLY, NULL},
    {NULL}};

static PyGetSetDef frame_getset[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL}, {NULL}};

static PyType_Slot frame_slots[] = {{Py_tp_new, frame_new},
                                    {Py_tp_call, frame_tp_call},
                                    {Py_tp_traverse, frame_traverse},
                                    {Py_tp_clear, frame_clear},
                                    {Py_tp_dealloc, frame_dealloc},
                                    {Py_tp_members, frame_members},
                                    {Py_tp_getset, frame_getset},
                                    {0, NULL}};

static PyType_Spec frame_spec = {"rabbet_native._frames.Frame", sizeof(Frame), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, frame_slots};

/* -------------------------------------------------------------------------------------------- the module */

static PyObject *setup(PyObject *self, PyObject *args)
{
    PyObject *array, *handler, *folding, *shape, *form;
    if (!PyArg_ParseTuple(args, "O!OOOO", &PyType_Type, &array, &handler, &folding, &shape, &form))
        return NULL;
    if ((at_raw = offset_in(array, "raw")) < 0 || (at_spec = offset_in(array, "spec")) < 0 ||
        (at_aval = offset_in(array, "aval")) < 0)
        return NULL;
    Py_XSETREF(by_handler, Py_NewRef(handler));
    Py_XSETREF(fold, Py_NewRef(folding));
    Py_XSETREF(shape_of, Py_NewRef(shape));
    Py_XSETREF(shape_of_form, Py_NewRef(form));
    Py_XSETREF(array_type, (PyTypeObject *)Py_NewRef(array));
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"setup", setup, METH_VARARGS,
     "setup(Array, by_handler, fold, shape_of, shape_of_form): what frames make and call; once."},
    {NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_frames", "Frames of compiled functions.", -1, methods};

PyMODINIT_FUNC PyInit__frames(void)
{
    s_interpreter = PyUnicode_InternFromString("interpreter");
    s_traced_key = PyUnicode_InternFromString("traced_key");
    s_consume = PyUnicode_InternFromString("consume_with_handlers");
    s_form = PyUnicode_InternFromString("form");
    s_aval = PyUnicode_InternFromString("aval");
    if (!s_interpreter || !s_traced_key || !s_consume || !s_form || !s_aval)
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    PyObject *type = PyType_FromSpec(&frame_spec);
    if (module == NULL || type == NULL || PyModule_AddObject(module, "Frame", type) < 0)
        return NULL;
    return module;
}
