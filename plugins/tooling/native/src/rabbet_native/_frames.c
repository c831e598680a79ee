/* The frame of a function that `jit` returns: what rabbet.runtime.execution.dispatch.function does in Python.

   Everything that is not known here goes to the functions that jit hands over, as the frame in Python does:
   `traced` under a transformation, `slowly` for a program that is not known yet, `of_others` for arguments that
   are neither arrays, numbers nor pytrees of both made of tuples, lists and dicts.
*/
#include "_arrays.h"
#include "_loops.h"

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
    PyObject *captured = NULL, *arrays = NULL, *known = found, *out = NULL;
    if (PyTuple_GET_ITEM(found, 0) == Py_None && PyTuple_GET_ITEM(found, 2) == Py_None) {
        captured = attribute_of(PyTuple_GET_ITEM(found, 3), s_captured);
        if (captured == NULL && PyErr_Occurred())
            return NULL;
        if (is_captured(captured)) {
            Py_INCREF(captured);
            arrays = PyTuple_GET_ITEM(captured, 0);
            known = PyTuple_GET_ITEM(captured, 1);
        }
        else
            captured = NULL;
    }
    PyObject *execute = PyTuple_GET_ITEM(known, 0), *handlers = PyTuple_GET_ITEM(known, 1);
    PyObject *spec = PyTuple_GET_ITEM(known, 2);
    int many = execute == Py_None, last = 0;
    if (!many || spec != Py_None) {
        if (many) {
            execute = PyTuple_GET_ITEM(handlers, 0);
            handlers = PyTuple_GET_ITEM(handlers, 1);
        }
        PyObject *raws = raws_of(arrays, leaves), *results = NULL;
        if (raws == NULL)
            goto end;
        PyObject *given = executed(execute, raws, &last);
        Py_DECREF(raws);
        if (given != NULL) {
            PyObject *operands[] = {given, handlers};
            results = PyObject_VectorcallMethod(s_consume, operands, 2, NULL);
            Py_DECREF(given);
        }
        if (results != NULL) {
            if (!PyList_CheckExact(results))
                PyErr_SetString(PyExc_SystemError, "results of a program that are no list");
            else if (many)
                out = results_of(spec, results);
            else if (PyList_GET_SIZE(results) > 0)
                out = new_array(PyList_GET_ITEM(results, 0), spec);
            else
                PyErr_SetString(PyExc_SystemError, "a program without its result");
            Py_DECREF(results);
            goto end;
        }
        if (last || !another_way()) /* else run it again: it says what is wrong with the arguments */
            goto end;
    }
    PyObject *list = as_list(leaves);
    if (list != NULL) {
        out = PyObject_CallOneArg(PyTuple_GET_ITEM(found, 3), list);
        Py_DECREF(list);
    }
end:
    Py_XDECREF(captured);
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

static PyObject *execute(PyObject *self, PyObject *args)
{
    PyObject *function, *raws;
    int last = 0;
    if (!PyArg_ParseTuple(args, "OO!", &function, &PyList_Type, &raws))
        return NULL;
    return executed(function, raws, &last);
}

static PyMethodDef methods[] = {
    {"setup", setup, METH_VARARGS,
     "setup(Array, by_handler, fold, shape_of, shape_of_form): what frames make and call; once."},
    {"execute", execute, METH_VARARGS, "execute(function, raws): as a frame runs a program."},
    {NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_frames", "Frames of compiled functions.", -1, methods};

PyMODINIT_FUNC PyInit__frames(void)
{
    s_interpreter = PyUnicode_InternFromString("interpreter");
    s_traced_key = PyUnicode_InternFromString("traced_key");
    s_consume = PyUnicode_InternFromString("consume_with_handlers");
    s_form = PyUnicode_InternFromString("form");
    s_aval = PyUnicode_InternFromString("aval");
    s_captured = PyUnicode_InternFromString("captured");
    s_steady = PyUnicode_InternFromString("steady");
    s_sure = PyUnicode_InternFromString("sure");
    s_table = PyUnicode_InternFromString("table");
    s_depth = PyUnicode_InternFromString("depth");
    s_is_ready = PyUnicode_InternFromString("is_ready");
    s_is_deleted = PyUnicode_InternFromString("is_deleted");
    if (!s_interpreter || !s_traced_key || !s_consume || !s_form || !s_aval || !s_captured || !s_steady || !s_sure ||
        !s_table || !s_depth || !s_is_ready || !s_is_deleted)
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    PyObject *type = PyType_FromSpec(&frame_spec);
    if (module == NULL || type == NULL || PyModule_AddObject(module, "Frame", type) < 0)
        return NULL;
    return module;
}
