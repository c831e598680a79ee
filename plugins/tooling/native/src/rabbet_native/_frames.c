/* The frame of a function that `jit` returns: what rabbet.runtime.execution.dispatch.function does in Python.

   Everything that is not known here goes to the functions that jit hands over, as the frame in Python does:
   `traced` under a transformation, `slowly` for a program that is not known yet, `of_others` for arguments that
   are neither arrays, numbers nor pytrees of both.
*/
#include "_arrays.h"
#include "_shapes.h"
#include "_pytrees.h"
#include "_loops.h"
#include "_donations.h"

/* Run a program on arrays: `found` is a `Known` of rabbet.runtime.execution.dispatch. */
static PyObject *run(Frame *f, PyObject *found, Leaves *leaves)
{
    PyObject *captured = NULL, *reading = NULL, *donating = NULL, *arrays = NULL, *known = found, *kept = NULL;
    PyObject *out = NULL;
    if (PyTuple_GET_ITEM(found, 0) == Py_None && PyTuple_GET_ITEM(found, 2) == Py_None) {
        int gives = is_donating(found, leaves);
        if (gives < 0)
            return NULL;
        if (gives) {
            donating = Py_NewRef(attribute_of(PyTuple_GET_ITEM(found, 3), s_donating));
            known = DONATING(KNOWN);
        }
    }
    if (PyTuple_GET_ITEM(known, 0) == Py_None && PyTuple_GET_ITEM(known, 2) == Py_None) {
        captured = attribute_of(PyTuple_GET_ITEM(known, 3), s_captured);
        if (captured == NULL && PyErr_Occurred())
            goto end;
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
    PyObject *execute = PyTuple_GET_ITEM(known, 0), *handlers = PyTuple_GET_ITEM(known, 1);
    PyObject *spec = PyTuple_GET_ITEM(known, 2);
    int many = execute == Py_None, last = 0;
    if (!many || spec != Py_None) {
        if (many) {
            execute = PyTuple_GET_ITEM(handlers, 0);
            handlers = PyTuple_GET_ITEM(handlers, 1);
        }
        PyObject *raws = raws_of(f, arrays, leaves, kept), *results = NULL;
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
            else if (keep_lent(f, leaves, results) < 0)
                ;
            else if (many)
                out = results_of(spec, results);
            else if (PyList_GET_SIZE(results) > 0)
                out = new_array(PyList_GET_ITEM(results, 0), spec);
            else
                PyErr_SetString(PyExc_SystemError, "a program without its result");
            Py_DECREF(results);
            goto given_up;
        }
        if (donating != NULL && !last) { /* what was donated may be gone: the error is what there is to tell */
            out = donation_failed(donating, leaves);
            goto given_up;
        }
        if (last || !another_way()) /* else run it again: it says what is wrong with the arguments */
            goto end;
    }
    PyObject *list = kept == NULL && all_there(leaves) < 0 ? NULL : as_list(leaves);
    if (list != NULL) {
        out = PyObject_CallOneArg(PyTuple_GET_ITEM(found, 3), list);
        Py_DECREF(list);
    }
    goto end;
given_up:
    if (donating != NULL && out != NULL && give_up(donating, leaves) < 0)
        Py_CLEAR(out);
end:
    Py_XDECREF(donating);
    Py_XDECREF(reading);
    Py_XDECREF(captured);
    return out;
}

static PyObject *slowly(Frame *f, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    Given all = {.args = args, .count = count, .names = names, .pair = 1};
    PyObject *tuple = as_tuple(args, count), *kwargs = tuple == NULL ? NULL : as_dict(&all), *out = NULL;
    if (kwargs != NULL)
        out = PyObject_CallFunctionObjArgs(f->slowly, tuple, kwargs, NULL);
    Py_XDECREF(kwargs);
    Py_XDECREF(tuple);
    return out;
}

static PyObject *of_others(Frame *f, PyObject *const *args, Py_ssize_t count)
{
    PyObject *tuple = as_tuple(args, count), *out = tuple == NULL ? NULL : PyObject_CallOneArg(f->of_others, tuple);
    Py_XDECREF(tuple);
    return out;
}

/* A call with names of arguments. */
static int with_names(Frame *f, Given *given, Leaves *leaves, PyObject **found)
{
    if (f->named == Py_None || PyList_GET_SIZE(f->named_shapes) == 0)
        return 0;
    return in_pytrees(f, f->named, f->named_shapes, given, leaves, found);
}

/* A call of a function that has static arguments. */
static int with_statics(Frame *f, Given *given, Leaves *leaves, PyObject **found)
{
    PyObject *values = NULL, *known = NULL, *shapes = NULL;
    int is_known = PyDict_GET_SIZE(f->fixed) == 0 ? 0 : split(f, given, &values);
    if (is_known > 0) {
        known = PyDict_GetItemWithError(f->fixed, values);
        Py_XINCREF(known);
        is_known = known != NULL ? 1 : PyErr_Occurred() ? -1 : 0;
    }
    if (is_known > 0) {
        shapes = shapes_of(known);
        is_known = shapes == NULL ? -1 : in_pytrees(f, known, shapes, given, leaves, found);
    }
    Py_XDECREF(shapes);
    Py_XDECREF(known);
    Py_XDECREF(values);
    Py_CLEAR(given->moving);
    return is_known;
}

static PyObject *call(Frame *f, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    PyObject *interpreter = get_local(&of_context, f->context, s_interpreter);
    if (interpreter == NULL)
        return NULL;
    Py_DECREF(interpreter); /* compared, and nothing else */
    if (interpreter != f->evaluation)
        return PyObject_Vectorcall(f->traced, args, count, names);
    if (names != NULL && PyTuple_GET_SIZE(names) == 0)
        names = NULL;
    PyObject *found = NULL, *out = NULL;
    Leaves leaves;
    leaves.at = leaves.few;
    leaves.count = leaves.lent_count = 0;
    leaves.room = FEW;
    leaves.traced_key = NULL;
    Given given = {.args = args, .count = count, .names = names, .pair = names != NULL || f->fixed != Py_None};
    int known = 1;
    if (f->fixed != Py_None)
        known = with_statics(f, &given, &leaves, &found);
    else if (names != NULL)
        known = with_names(f, &given, &leaves, &found);
    else if (f->trees != Py_None && PyList_GET_SIZE(f->tree_shapes) > 0)
        known = in_pytrees(f, f->trees, f->tree_shapes, &given, &leaves, &found);
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
        out = run(f, found, &leaves);
    else if (known >= 0 || another_way())
        out = given.pair || known > 0 ? slowly(f, args, count, names) : of_others(f, args, count);
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
                         "unread", "later", "lend", NULL};

static PyObject *frame_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *programs, *settings, *context, *evaluation, *traced, *slowly, *of_others, *of_trees, *trees, *named;
    PyObject *fixed, *split, *convert, *converted, *unread, *later, *lend;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OOOOOOOOOOOOO!OOO", fields, &PyDict_Type, &programs, &settings,
                                     &context, &evaluation, &traced, &slowly, &of_others, &of_trees, &trees, &named,
                                     &fixed, &split, &convert, &PyFrozenSet_Type, &converted, &unread, &later, &lend))
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
    f->lend = Py_NewRef(later == Py_None || f->unread == Py_None ? Py_None : lend);
    f->convert = Py_NewRef(convert);
    f->converted = Py_NewRef(converted);
    f->tree_shapes = shapes_of(trees);
    f->named_shapes = shapes_of(named);
    f->put_off = PyDict_New();
    f->lent = PyDict_New();
    f->whole = PySet_New(NULL);
    int whole = f->tree_shapes != NULL && f->named_shapes != NULL && f->put_off != NULL && f->lent != NULL &&
                f->whole != NULL;
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
    PyObject *array, *handler, *folding, *shape, *form, *flattens, *gives_back, *registered, *local;
    if (!PyArg_ParseTuple(args, "O!OOOOOOOO!k", &PyType_Type, &array, &handler, &folding, &shape, &form, &flattens,
                          &gives_back, &registered, &PyType_Type, &local, &main_thread))
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
    Py_XSETREF(nodes, Py_NewRef(registered));
    Py_XSETREF(local_type, (PyTypeObject *)Py_NewRef(local));
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
     "setup(Array, by_handler, fold, shape_of, shape_of_form, flatten, give_back, nodes, local, main_thread): what "
     "frames make and call, the class of what each thread has of its own, and the number of the main thread."},
    {"execute", execute, METH_VARARGS, "execute(function, raws): as a frame runs a program."},
    {NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_frames", "Frames of compiled functions.", -1, methods};

PyMODINIT_FUNC PyInit__frames(void)
{
    static struct {
        PyObject **name;
        const char *text;
    } names[] = {{&s_interpreter, "interpreter"}, {&s_traced_key, "traced_key"}, {&s_consume, "consume_with_handlers"},
                 {&s_form, "form"},               {&s_aval, "aval"},             {&s_captured, "captured"},
                 {&s_steady, "steady"},           {&s_depth, "depth"},           {&s_is_ready, "is_ready"},
                 {&s_reading, "reading"},         {&s_shapes, "shapes"},         {&s_spec, "spec"},
                 {&s_raw, "raw"},                 {&s_array, "array"},           {&s_donating, "donating"},
                 {&s_delete, "delete"},           {&s_dtype, "dtype"},           {&s_shape, "shape"},
                 {&s_is_deleted, "is_deleted"},   {&s_guard, "transfer_guard_host_to_device"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if ((*names[i].name = PyUnicode_InternFromString(names[i].text)) == NULL)
            return NULL;
    PyObject *module = PyModule_Create(&definition);
    PyObject *type = PyType_FromSpec(&frame_spec);
    if (module == NULL || type == NULL || PyModule_AddObject(module, "Frame", type) < 0 ||
        PyModule_AddIntConstant(module, "PARTS", 3) < 0) /* as in __init__.py */
        return NULL;
    return module;
}
