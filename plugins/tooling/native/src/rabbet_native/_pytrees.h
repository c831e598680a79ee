/* Arguments that are pytrees, and those that are static. */

static PyObject *as_tuple(PyObject *const *args, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    return tuple;
}

/* `trees.shapes`, a list; None for None. */
static PyObject *shapes_of(PyObject *trees)
{
    if (trees == Py_None)
        return Py_NewRef(Py_None);
    PyObject *shapes = PyDict_Check(trees) ? PyObject_GetAttr(trees, s_shapes) : NULL;
    if (shapes != NULL && PyList_CheckExact(shapes))
        return shapes;
    Py_XDECREF(shapes);
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "Frame: trees and named are dicts with `shapes`, a list, or None");
    return NULL;
}

/* As in_pytrees, for what jaxlib takes apart: named tuples and registered classes are among it. */
static int by_structure(Frame *f, PyObject *trees, PyObject *given, Leaves *leaves, PyObject **found)
{
    PyObject *flat = PyObject_CallOneArg(flatten, given);
    if (flat == NULL) {
        if (PyErr_ExceptionMatches(PyExc_Exception)) {
            PyObject *error = take_error(), *done = PyObject_CallFunctionObjArgs(give_back, error, given, NULL);
            if (done == NULL)
                Py_DECREF(error);
            else
                give_error(error);
            Py_XDECREF(done);
        }
        return -1;
    }
    int same = -1;
    PyObject *entry = NULL, *list;
    if (!PyTuple_CheckExact(flat) || PyTuple_GET_SIZE(flat) != 2 || !PyList_CheckExact(PyTuple_GET_ITEM(flat, 0))) {
        same = 0; /* another jaxlib */
        goto end;
    }
    entry = PyDict_GetItemWithError(trees, PyTuple_GET_ITEM(flat, 1));
    if (entry == NULL) {
        same = PyErr_Occurred() ? -1 : 0;
        goto end;
    }
    Py_INCREF(entry);
    list = PyTuple_GET_ITEM(flat, 0); /* nobody else has it */
    same = 1;
    for (Py_ssize_t i = 0; same > 0 && i < PyList_GET_SIZE(list); i++)
        same = leaves_add(f, leaves, PyList_GET_ITEM(list, i));
    if (same > 0) {
        *found = look_up(f, PyTuple_GET_ITEM(entry, 0), leaves);
        if (*found == NULL && PyErr_Occurred())
            same = -1;
    }
end:
    Py_XDECREF(entry);
    Py_DECREF(flat);
    return same;
}

static PyObject *as_dict(Given *g)
{
    PyObject *dict = PyDict_New();
    for (Py_ssize_t i = 0; dict != NULL && g->names != NULL && i < PyTuple_GET_SIZE(g->names); i++) {
        PyObject *name = PyTuple_GET_ITEM(g->names, i);
        if (!is_among(g->statics, name) && PyDict_SetItem(dict, name, g->args[g->count + i]) < 0)
            Py_CLEAR(dict);
    }
    return dict;
}

/* What was given as Python's objects: a tuple, or a pair of one and a dict. */
static PyObject *as_object(Given *g)
{
    PyObject *positions = PyTuple_New(count_of_positions(g));
    for (Py_ssize_t i = 0; positions != NULL && i < PyTuple_GET_SIZE(positions); i++)
        PyTuple_SET_ITEM(positions, i, Py_NewRef(at_position(g, i)));
    if (positions == NULL || !g->pair)
        return positions;
    PyObject *dict = as_dict(g), *both = dict == NULL ? NULL : PyTuple_Pack(2, positions, dict);
    Py_XDECREF(dict);
    Py_DECREF(positions);
    return both;
}

/* Find the leaves of arguments in pytrees, and with them the program. 1 with `*found`, 0 where no structure
   that is known is that of the call, -1. `*found` is NULL where the structure is known and the program is not.
   `shapes` are those of `trees`: pairs of a structure and its programs, of which we make (shape, programs,
   structure, whether the shape calls functions of users). Those are called for few shapes only. */
static int in_pytrees(Frame *f, PyObject *trees, PyObject *shapes, Given *given, Leaves *leaves, PyObject **found)
{
    int others = PyList_GET_SIZE(shapes) > MOST_SHAPES; /* whether there are some that jaxlib has to find */
    int calls = 0;
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
        int left_out = shape == Py_None || (PyTuple_GET_ITEM(item, 3) == Py_True && ++calls > MOST_CALLING);
        others |= left_out;
        int same = left_out ? 0 : collect_given(f, leaves, shape, given);
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
    if (!others)
        return 0;
    PyObject *object = as_object(given);
    int same = object == NULL ? -1 : by_structure(f, trees, object, leaves, found);
    Py_XDECREF(object);
    return same;
}

/* ------------------------------------------------------------------------------------- static arguments */

/* What kind a static value is: its type; for a tuple, that and those of its items. */
static PyObject *kind_of(PyObject *value)
{
    if (!PyTuple_Check(value))
        return Py_NewRef(Py_TYPE(value));
    if (Py_EnterRecursiveCall(" in a static argument"))
        return NULL;
    PyObject *kinds = PyTuple_New(PyTuple_GET_SIZE(value) + 1);
    if (kinds != NULL)
        PyTuple_SET_ITEM(kinds, 0, Py_NewRef(Py_TYPE(value)));
    for (Py_ssize_t i = 0; kinds != NULL && i < PyTuple_GET_SIZE(value); i++) {
        PyObject *kind = kind_of(PyTuple_GET_ITEM(value, i));
        if (kind == NULL)
            Py_CLEAR(kinds);
        else
            PyTuple_SET_ITEM(kinds, i + 1, kind);
    }
    Py_LeaveRecursiveCall();
    return kinds;
}

static int put_value(PyObject *values, Py_ssize_t at, PyObject *value)
{
    PyObject *kind = kind_of(value);
    if (kind == NULL)
        return -1;
    PyTuple_SET_ITEM(values, at, kind);
    PyTuple_SET_ITEM(values, at + 1, Py_NewRef(value));
    return 0;
}

/* The key of the static values of a call, as `split` of the parts makes it: 1 with it, and the positions of the
   others in `given`, with a reference; 0 where nobody has asked `split` for so many arguments; -1. */
static int split(Frame *f, Given *given, PyObject **values)
{
    PyObject *number = PyLong_FromSsize_t(given->count);
    if (number == NULL)
        return -1;
    PyObject *places = PyDict_GetItemWithError(f->by_count, number), *made = NULL;
    if (places == NULL || !PyTuple_CheckExact(places) || PyTuple_GET_SIZE(places) != 2) {
        Py_DECREF(number);
        return PyErr_Occurred() ? -1 : 0;
    }
    PyObject *fixed = Py_NewRef(PyTuple_GET_ITEM(places, 0));
    given->moving = Py_NewRef(PyTuple_GET_ITEM(places, 1));
    given->statics = f->names;
    Py_ssize_t named = 0, at = 1;
    for (Py_ssize_t i = 0; given->names != NULL && i < PyTuple_GET_SIZE(f->names); i++)
        named += by_its_name(given, PyTuple_GET_ITEM(f->names, i)) != NULL;
    made = PyTuple_New(1 + 2 * PyTuple_GET_SIZE(fixed) + 3 * named);
    int whole = made != NULL;
    if (whole)
        PyTuple_SET_ITEM(made, 0, Py_NewRef(number));
    for (Py_ssize_t i = 0; whole && i < PyTuple_GET_SIZE(fixed); i++, at += 2)
        whole = put_value(made, at, given->args[PyLong_AsSsize_t(PyTuple_GET_ITEM(fixed, i))]) == 0;
    for (Py_ssize_t i = 0; whole && named > 0 && i < PyTuple_GET_SIZE(f->names); i++) {
        PyObject *name = PyTuple_GET_ITEM(f->names, i), *value = by_its_name(given, name);
        if (value == NULL)
            continue;
        PyTuple_SET_ITEM(made, at, Py_NewRef(name));
        whole = put_value(made, at + 1, value) == 0;
        at += 3;
    }
    if (whole)
        *values = made;
    else
        Py_XDECREF(made);
    Py_DECREF(fixed);
    Py_DECREF(number);
    return whole ? 1 : -1;
}
