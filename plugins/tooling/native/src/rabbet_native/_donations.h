/* Programs that take the memory of arguments, which are deleted afterwards. */

/* The places in DonatingParts of rabbet.runtime.execution.frames. */
enum { PLACES, KNOWN, FAILED, SHARED, CALLBACKS_HERE, DONATING_PARTS };

#define DONATING(i) PyTuple_GET_ITEM(donating, i)

/* Whether this program donates, and may be run here: 1, 0, -1. */
static int is_donating(PyObject *found, Leaves *leaves)
{
    PyObject *donating = attribute_of(PyTuple_GET_ITEM(found, 3), s_donating);
    if (donating == NULL)
        return PyErr_Occurred() ? -1 : 0;
    if (!PyTuple_Check(donating) || PyTuple_GET_SIZE(donating) != DONATING_PARTS ||
        !PyTuple_CheckExact(DONATING(PLACES)) || !PyTuple_CheckExact(DONATING(KNOWN)) ||
        PyTuple_GET_SIZE(DONATING(KNOWN)) != 4 || !PyList_CheckExact(DONATING(SHARED)) ||
        PyList_GET_SIZE(DONATING(SHARED)) > 0) /* arrays may have the same memory: those are copied */
        return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(DONATING(PLACES)); i++) {
        Py_ssize_t place = PyLong_AsSsize_t(PyTuple_GET_ITEM(DONATING(PLACES), i));
        if (place == -1 && PyErr_Occurred())
            return -1;
        if (place < 0 || place >= leaves->count || Py_TYPE(leaves->at[place]) != array_type)
            return 0;
    }
    return 1;
}

/* What is to be done where running the program raised: NULL, or what it gave when it ran again. */
static PyObject *donation_failed(PyObject *donating, Leaves *leaves)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return NULL;
    PyObject *error = take_error(), *answer = PyObject_CallOneArg(by_handler, error);
    if (answer == NULL || answer == Py_True) {
        if (answer != NULL)
            give_error(error);
        else
            Py_DECREF(error);
        Py_XDECREF(answer);
        return NULL;
    }
    Py_DECREF(answer);
    PyObject *list = as_list(leaves), *out = NULL;
    if (list != NULL)
        out = PyObject_CallFunctionObjArgs(DONATING(FAILED), error, list, NULL);
    Py_XDECREF(list);
    Py_DECREF(error);
    return out;
}

/* Delete what was donated: 0, or -1. */
static int give_up(PyObject *donating, Leaves *leaves)
{
    int inside = is_inside(DONATING(CALLBACKS_HERE));
    if (inside < 0)
        return -1;
    inside |= PyList_GET_SIZE(DONATING(SHARED)) > 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(DONATING(PLACES)); i++) {
        PyObject *array = leaves->at[PyLong_AsSsize_t(PyTuple_GET_ITEM(DONATING(PLACES), i))];
        PyObject *raw = SLOT(array, at_raw);
        PyObject *done = PyObject_CallMethodNoArgs(inside || raw == NULL ? array : raw, s_delete);
        if (done == NULL)
            return -1;
        Py_DECREF(done);
    }
    return 0;
}
