/* The frame of a function that `jit` returns: what rabbet.runtime.execution.dispatch.function does in Python.

   Everything that is not known here goes to the functions that jit hands over, as the frame in Python does:
   `traced` under a transformation, `slowly` for a program that is not known yet, `of_others` for arguments that
   are neither arrays, numbers nor pytrees of both.
*/
#include "_arrays.h"
#include "_loops.h"
#include "_pytrees.h"

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
    PyObject *captured = NULL, *reading = NULL, *arrays = NULL, *known = found, *kept = NULL, *out = NULL;
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
    if (PyTuple_GET_ITEM(known, 0) == Py_None && PyTuple_GET_ITEM(known, 2) == Py_None) {
        reading = attribute_of(PyTuple_GET_ITEM(known, 3), s_reading);
        if (reading == NULL && PyErr_Occurred())
            goto end;
        if (is_reading(reading, leaves->count + (arrays == NULL ? 0 : PyTuple_GET_SIZE(arrays)))) {
            Py_INCREF(reading);
            kept = PyTuple_GET_ITEM(reading, 0);
            known = PyTuple_GET_ITEM(reading, 1);
        }
        else
            reading = NULL;
    }
    if (kept == NULL && all_there(leaves) < 0)
        goto end;
    PyObject *execute = PyTuple_GET_ITEM(known, 0), *handlers = PyTuple_GET_ITEM(known, 1);
    PyObject *spec = PyTuple_GET_ITEM(known, 2);
    int many = execute == Py_None, last = 0;
    if (!many || spec != Py_None) {
        if (many) {
            execute = PyTuple_GET_ITEM(handlers, 0);
            handlers = PyTuple_GET_ITEM(handlers, 1);
        }
        PyObject *raws = raws_of(arrays, leaves, kept), *results = NULL;
        PyObject *given = raws == NULL ? NULL : executed(execute, raws, &last);
        Py_XDECREF(raws);
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
    Py_XDECREF(reading);
    Py_XDECREF(captured);
    return out;
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

static PyObject *with_names(Frame *f, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    PyObject *out = NULL, *kwargs = PyDict_New(), *tuple = as_tuple(args, count), *both = NULL, *found = NULL;
    Leaves leaves = {.at = leaves.few, .count = 0, .room = FEW};
    if (kwargs == NULL || tuple == NULL)
        goto end;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++)
        if (PyDict_SetItem(kwargs, PyTuple_GET_ITEM(names, i), args[count + i]) < 0)
            goto end;
    if (f->named != Py_None && PyList_GET_SIZE(f->named_shapes) > 0) {
        both = PyTuple_Pack(2, tuple, kwargs);
        if (both == NULL)
            goto end;
        int known = in_pytrees(f, f->named, f->named_shapes, NULL, 0, both, &leaves, &found);
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

/* A call of a function that has static arguments. */
static PyObject *with_statics(Frame *f, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    PyObject *out = NULL, *tuple = as_tuple(args, count), *kwargs = PyDict_New(), *known = NULL, *found = NULL;
    PyObject *values = NULL, *others = NULL;
    Leaves leaves = {.at = leaves.few, .count = 0, .room = FEW};
    if (tuple == NULL || kwargs == NULL)
        goto end;
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++)
        if (PyDict_SetItem(kwargs, PyTuple_GET_ITEM(names, i), args[count + i]) < 0)
            goto end;
    int is_known = PyDict_GET_SIZE(f->fixed) == 0 ? 0 : split(f, args, count, kwargs, &values, &others);
    if (is_known > 0) {
        known = PyDict_GetItemWithError(f->fixed, values);
        Py_XINCREF(known);
        is_known = known != NULL ? 1 : PyErr_Occurred() ? -1 : 0;
    }
    if (is_known > 0) {
        PyObject *shapes = shapes_of(known);
        is_known = shapes == NULL ? -1 : in_pytrees(f, known, shapes, NULL, 0, others, &leaves, &found);
        Py_XDECREF(shapes);
    }
    if (is_known < 0 && !another_way())
        goto end;
    if (is_known > 0 && found != NULL)
        out = run(found, &leaves);
    else
        out = PyObject_CallFunctionObjArgs(f->slowly, tuple, kwargs, NULL);
end:
    leaves_clear(&leaves);
    Py_XDECREF(found);
    Py_XDECREF(known);
    Py_XDECREF(values);
    Py_XDECREF(others);
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
    if (f->fixed != Py_None)
        return with_statics(f, args, count, names);
    if (names != NULL && PyTuple_GET_SIZE(names) > 0)
        return with_names(f, args, count, names);
    PyObject *found = NULL, *out = NULL;
    Leaves leaves = {.at = leaves.few, .count = 0, .room = FEW};
    int known = 1;
    if (f->trees != Py_None && PyList_GET_SIZE(f->tree_shapes) > 0)
        known = in_pytrees(f, f->trees, f->tree_shapes, args, count, NULL, &leaves, &found);
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
                         "trees", "named", "fixed", "split", "convert", "converted",
                         "unread", "later", NULL};

static PyObject *frame_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *programs, *settings, *context, *evaluation, *traced, *slowly, *of_others, *of_trees, *trees, *named;
    PyObject *fixed, *split, *convert, *converted, *unread, *later;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OOOOOOOOOOOOO!OO", fields, &PyDict_Type, &programs, &settings,
                                     &context, &evaluation, &traced, &slowly, &of_others, &of_trees, &trees, &named,
                                     &fixed, &split, &convert, &PyFrozenSet_Type, &converted, &unread, &later))
        return NULL;
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
    f->fixed = Py_NewRef(fixed);
    f->unread = Py_NewRef(PySet_Check(unread) ? unread : Py_None);
    f->later = Py_NewRef(later);
    f->convert = Py_NewRef(convert);
    f->converted = Py_NewRef(converted);
    f->tree_shapes = shapes_of(trees);
    f->named_shapes = shapes_of(named);
    int whole = f->tree_shapes != NULL && f->named_shapes != NULL;
    if (whole && fixed != Py_None) {
        f->by_count = PyObject_GetAttrString(split, "by_count");
        f->names = f->by_count == NULL ? NULL : PyObject_GetAttrString(split, "names");
        whole = f->names != NULL;
        if (whole && (!PyDict_Check(fixed) || !PyDict_Check(f->by_count) || !PyTuple_CheckExact(f->names))) {
            PyErr_SetString(PyExc_TypeError, "Frame: fixed and split.by_count are dicts, and split.names a tuple");
            whole = 0;
        }
    }
    if (!whole)
        Py_CLEAR(f);
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
    PyObject *array, *handler, *folding, *shape, *form, *flattens, *gives_back;
    if (!PyArg_ParseTuple(args, "O!OOOOOO", &PyType_Type, &array, &handler, &folding, &shape, &form, &flattens,
                          &gives_back))
        return NULL;
    if ((at_raw = offset_in(array, "raw")) < 0 || (at_spec = offset_in(array, "spec")) < 0 ||
        (at_aval = offset_in(array, "aval")) < 0)
        return NULL;
    Py_XSETREF(by_handler, Py_NewRef(handler));
    Py_XSETREF(fold, Py_NewRef(folding));
    Py_XSETREF(shape_of, Py_NewRef(shape));
    Py_XSETREF(shape_of_form, Py_NewRef(form));
    Py_XSETREF(flatten, Py_NewRef(flattens));
    Py_XSETREF(give_back, Py_NewRef(gives_back));
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
     "setup(Array, by_handler, fold, shape_of, shape_of_form, flatten, give_back): what frames make and call; once."},
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
    s_reading = PyUnicode_InternFromString("reading");
    s_shapes = PyUnicode_InternFromString("shapes");
    s_spec = PyUnicode_InternFromString("spec");
    s_raw = PyUnicode_InternFromString("raw");
    s_array = PyUnicode_InternFromString("array");
    if (!s_interpreter || !s_traced_key || !s_consume || !s_form || !s_aval || !s_captured || !s_steady || !s_sure ||
        !s_table || !s_depth || !s_is_ready || !s_is_deleted || !s_reading || !s_shapes || !s_spec || !s_raw ||
        !s_array)
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    PyObject *type = PyType_FromSpec(&frame_spec);
    if (module == NULL || type == NULL || PyModule_AddObject(module, "Frame", type) < 0)
        return NULL;
    return module;
}
