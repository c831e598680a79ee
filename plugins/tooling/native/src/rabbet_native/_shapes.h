/* Shapes: how pytrees are taken apart, and put together. A shape is None for a leaf, else (kind, children, keys). */

#define CHILD(shape, i) PyTuple_GET_ITEM(PyTuple_GET_ITEM(shape, 1), i)
#define KEY(shape, i) PyTuple_GET_ITEM(PyTuple_GET_ITEM(shape, 2), i)

static inline Py_ssize_t children_of(PyObject *shape)
{
    return PyTuple_GET_SIZE(PyTuple_GET_ITEM(shape, 1));
}

static inline long kind_of_shape(PyObject *shape)
{
    return PyLong_AsLong(PyTuple_GET_ITEM(shape, 0));
}

static int collect(Frame *f, Leaves *leaves, PyObject *shape, PyObject *x);

/* Collect from children that are in a tuple, which the caller holds. */
static int collect_tuple(Frame *f, Leaves *leaves, PyObject *shape, PyObject *items)
{
    Py_ssize_t count = children_of(shape);
    if (PyTuple_GET_SIZE(items) != count)
        return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        int found = collect(f, leaves, CHILD(shape, i), PyTuple_GET_ITEM(items, i));
        if (found <= 0)
            return found;
    }
    return 1;
}

static int collect_list(Frame *f, Leaves *leaves, PyObject *shape, PyObject *items)
{
    Py_ssize_t count = children_of(shape);
    if (PyList_GET_SIZE(items) != count)
        return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (i >= PyList_GET_SIZE(items)) /* converting a number may run what changes it */
            return 0;
        PyObject *item = Py_NewRef(PyList_GET_ITEM(items, i));
        int found = collect(f, leaves, CHILD(shape, i), item);
        Py_DECREF(item);
        if (found <= 0)
            return found;
    }
    return 1;
}

static int collect_dict(Frame *f, Leaves *leaves, PyObject *shape, PyObject *x)
{
    Py_ssize_t count = children_of(shape);
    if (PyDict_GET_SIZE(x) != count)
        return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyDict_GetItemWithError(x, KEY(shape, i));
        if (item == NULL)
            return PyErr_Occurred() ? -1 : 0;
        Py_INCREF(item);
        int found = collect(f, leaves, CHILD(shape, i), item);
        Py_DECREF(item);
        if (found <= 0)
            return found;
    }
    return 1;
}

/* Whether a named tuple is one still: its class may have been registered since the shape was made. */
static int is_named_still(PyObject *shape)
{
    Py_ssize_t registered = PyObject_Size(nodes);
    if (registered < 0)
        return -1;
    if (registered == PyLong_AsSsize_t(KEY(shape, 1)))
        return 1;
    int is_registered = PySequence_Contains(nodes, KEY(shape, 0));
    return is_registered < 0 ? -1 : !is_registered;
}

/* A class of which jaxlib knows fields: those that are children, and those that are compared. */
static int collect_fields(Frame *f, Leaves *leaves, PyObject *shape, PyObject *x)
{
    PyObject *data = KEY(shape, 1), *meta = KEY(shape, 2), *values = KEY(shape, 3);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(meta); i++) {
        PyObject *value = PyObject_GetAttr(x, PyTuple_GET_ITEM(meta, i));
        int same = value == NULL ? -1 : PyObject_RichCompareBool(PyTuple_GET_ITEM(values, i), value, Py_EQ);
        Py_XDECREF(value);
        if (same <= 0)
            return same;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(data); i++) {
        PyObject *item = PyObject_GetAttr(x, PyTuple_GET_ITEM(data, i));
        int found = item == NULL ? -1 : collect(f, leaves, CHILD(shape, i), item);
        Py_XDECREF(item);
        if (found <= 0)
            return found;
    }
    return 1;
}

/* A class with a function of its user's that takes it apart. What that gives is checked where jaxlib calls it. */
static int collect_custom(Frame *f, Leaves *leaves, PyObject *shape, PyObject *x)
{
    PyObject *parts = PyObject_CallOneArg(KEY(shape, 1), x);
    if (parts == NULL)
        return -1;
    int found = 0;
    if (PyTuple_Check(parts) && PyTuple_GET_SIZE(parts) == 2) {
        int other = PyObject_RichCompareBool(KEY(shape, 2), PyTuple_GET_ITEM(parts, 1), Py_NE);
        PyObject *items = other != 0 ? NULL : PySequence_Tuple(PyTuple_GET_ITEM(parts, 0));
        if (items != NULL)
            found = collect_tuple(f, leaves, shape, items);
        else if (other <= 0)
            found = -1;
        Py_XDECREF(items);
    }
    Py_DECREF(parts);
    return found;
}

/* Collect the leaves of what has a shape: 1, 0 where it has another one, -1. */
static int collect(Frame *f, Leaves *leaves, PyObject *shape, PyObject *x)
{
    if (shape == Py_None)
        return leaves_add(f, leaves, x);
    int same;
    switch (kind_of_shape(shape)) {
    case TUPLE:
        return PyTuple_CheckExact(x) ? collect_tuple(f, leaves, shape, x) : 0;
    case LIST:
        return PyList_CheckExact(x) ? collect_list(f, leaves, shape, x) : 0;
    case DICT:
        return PyDict_CheckExact(x) ? collect_dict(f, leaves, shape, x) : 0;
    case NOTHING:
        return x == Py_None;
    case NAMED:
        if ((PyObject *)Py_TYPE(x) != KEY(shape, 0))
            return 0;
        same = is_named_still(shape);
        return same > 0 ? collect_tuple(f, leaves, shape, x) : same;
    case FIELDS:
        return (PyObject *)Py_TYPE(x) == KEY(shape, 0) ? collect_fields(f, leaves, shape, x) : 0;
    case CUSTOM:
        return (PyObject *)Py_TYPE(x) == KEY(shape, 0) ? collect_custom(f, leaves, shape, x) : 0;
    }
    return 0;
}

/* The arguments of a call, which are in no tuple yet. */
typedef struct {
    PyObject *const *args;
    Py_ssize_t count;
    PyObject *names;   /* of those that follow, a tuple or NULL */
    PyObject *moving;  /* the positions of those that are not static, a tuple; NULL for all of them */
    PyObject *statics; /* names of static ones, a tuple or NULL */
    int pair;          /* whether shapes are those of (args, kwargs) */
} Given;

static int is_among(PyObject *names, PyObject *name)
{
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++)
        if (PyTuple_GET_ITEM(names, i) == name)
            return 1;
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++)
        if (PyUnicode_Check(PyTuple_GET_ITEM(names, i)) && PyUnicode_Compare(PyTuple_GET_ITEM(names, i), name) == 0)
            return 1;
    return 0;
}

/* What was given by a name; borrowed, NULL without an exception where nothing was. */
static PyObject *by_its_name(Given *g, PyObject *name)
{
    Py_ssize_t count = g->names == NULL ? 0 : PyTuple_GET_SIZE(g->names);
    for (Py_ssize_t i = 0; i < count; i++)
        if (PyTuple_GET_ITEM(g->names, i) == name)
            return g->args[g->count + i];
    for (Py_ssize_t i = 0; i < count && PyUnicode_CheckExact(name); i++)
        if (PyUnicode_Compare(PyTuple_GET_ITEM(g->names, i), name) == 0)
            return g->args[g->count + i];
    return NULL;
}

static inline Py_ssize_t count_of_positions(Given *g)
{
    return g->moving == NULL ? g->count : PyTuple_GET_SIZE(g->moving);
}

static inline PyObject *at_position(Given *g, Py_ssize_t i)
{
    return g->args[g->moving == NULL ? i : PyLong_AsSsize_t(PyTuple_GET_ITEM(g->moving, i))];
}

/* As collect. */
static int collect_given(Frame *f, Leaves *leaves, PyObject *shape, Given *g)
{
    PyObject *positions = g->pair ? CHILD(shape, 0) : shape;
    Py_ssize_t count = count_of_positions(g);
    if (children_of(positions) != count)
        return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        int found = collect(f, leaves, CHILD(positions, i), at_position(g, i));
        if (found <= 0)
            return found;
    }
    if (!g->pair)
        return 1;
    PyObject *named = CHILD(shape, 1);
    Py_ssize_t others = 0;
    for (Py_ssize_t i = 0; g->names != NULL && i < PyTuple_GET_SIZE(g->names); i++)
        others += !is_among(g->statics, PyTuple_GET_ITEM(g->names, i));
    if (children_of(named) != others)
        return 0;
    for (Py_ssize_t i = 0; i < others; i++) {
        PyObject *x = by_its_name(g, KEY(named, i));
        int found = x == NULL ? 0 : collect(f, leaves, CHILD(named, i), x);
        if (found <= 0)
            return found;
    }
    return 1;
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
    Py_ssize_t count = children_of(shape), made = 0;
    long kind = kind_of_shape(shape);
    if (kind == NOTHING)
        return Py_NewRef(Py_None);
    PyObject *out = kind == DICT ? PyDict_New() : kind == LIST ? PyList_New(count) : PyTuple_New(count);
    for (; out != NULL && made < count; made++) {
        PyObject *child = put_together(CHILD(shape, made), next);
        int failed = child == NULL;
        if (failed)
            ;
        else if (kind == DICT) {
            failed = PyDict_SetItem(out, KEY(shape, made), child) < 0;
            Py_DECREF(child);
        }
        else if (kind == LIST)
            PyList_SET_ITEM(out, made, child);
        else
            PyTuple_SET_ITEM(out, made, child);
        if (failed)
            Py_CLEAR(out);
    }
    if (out == NULL || kind == TUPLE || kind == LIST || kind == DICT)
        return out;
    PyObject *whole = NULL, *class = KEY(shape, 0);
    if (kind == NAMED)
        whole = PyObject_Call(class, out, NULL);
    else if (kind == CUSTOM)
        whole = PyObject_CallFunctionObjArgs(KEY(shape, 3), KEY(shape, 2), out, NULL);
    else {
        PyObject *values = KEY(shape, 3), *all = PySequence_Concat(out, values);
        if (all != NULL)
            whole = PyObject_Vectorcall(class, &PyTuple_GET_ITEM(all, 0), 0, KEY(shape, 4));
        Py_XDECREF(all);
    }
    Py_DECREF(out);
    return whole;
}

/* Take the item of a list that nobody else has. */
static PyObject *taken(PyObject *list, Py_ssize_t i)
{
    PyObject *item = PyList_GET_ITEM(list, i);
    PyList_SET_ITEM(list, i, NULL);
    return item;
}

/* A tuple or a list of arrays, made of raw arrays that nobody else has. */
static PyObject *sequence_of(PyObject *specs, PyObject *raws, int is_tuple)
{
    Py_ssize_t count = PyList_GET_SIZE(specs);
    PyObject *out = is_tuple ? PyTuple_New(count) : PyList_New(count);
    for (Py_ssize_t i = 0; out != NULL && i < count; i++) {
        PyObject *array = wrapped(taken(raws, i), PyList_GET_ITEM(specs, i));
        if (array == NULL)
            Py_CLEAR(out);
        else if (is_tuple)
            PyTuple_SET_ITEM(out, i, array);
        else
            PyList_SET_ITEM(out, i, array);
    }
    return out;
}

/* The result made of the raw arrays of a program, which nobody else has, as `build` says; its `form` is a list of
   placements, of what puts arrays together, and of the shape of that, None where nobody has asked. */
static PyObject *results_of(PyObject *build, PyObject *raws)
{
    PyObject *form = attribute_of(build, s_form);
    if (form == NULL && PyErr_Occurred())
        return NULL;
    if (form == NULL || PyList_GET_SIZE(raws) != PyList_GET_SIZE(PyList_GET_ITEM(form, 0)))
        return PyObject_CallOneArg(build, raws);
    Py_INCREF(form);
    PyObject *specs = PyList_GET_ITEM(form, 0), *assemble = PyList_GET_ITEM(form, 1), *out = NULL;
    PyObject *shape = PyList_GET_ITEM(form, 2), *few[FEW], **arrays = few;
    Py_ssize_t count = PyList_GET_SIZE(specs), made = 0;
    if (shape == Py_None) {
        shape = PyObject_CallOneArg(shape_of_form, assemble);
        if (shape == NULL)
            goto end;
        PyList_SetItem(form, 2, shape);
    }
    if (!PyTuple_Check(shape)) {
        int is_whole = shape == (PyObject *)&PyTuple_Type || shape == (PyObject *)&PyList_Type;
        out = sequence_of(specs, raws, shape == (PyObject *)&PyTuple_Type);
        if (out != NULL && !is_whole)
            Py_SETREF(out, PyObject_CallOneArg(shape == Py_False ? assemble : shape, out));
        goto end;
    }
    if (count > FEW && (arrays = PyMem_Malloc(count * sizeof(PyObject *))) == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    for (; made < count; made++)
        if ((arrays[made] = wrapped(taken(raws, made), PyList_GET_ITEM(specs, made))) == NULL)
            break;
    PyObject **next = arrays;
    if (made == count)
        out = put_together(shape, &next);
    for (Py_ssize_t i = 0; i < made; i++)
        Py_XDECREF(arrays[i]);
    if (arrays != few)
        PyMem_Free(arrays);
end:
    Py_DECREF(form);
    return out;
}
