/* How a program is run: with the arrays that it captured, and so that a signal ends its loops. */

/* Whether this is `captured` of rabbet.runtime.execution.frames.FrameParts. */
static int is_captured(PyObject *x)
{
    if (x == NULL || !PyTuple_CheckExact(x) || PyTuple_GET_SIZE(x) != 2)
        return 0;
    PyObject *arrays = PyTuple_GET_ITEM(x, 0), *known = PyTuple_GET_ITEM(x, 1);
    if (!PyTuple_CheckExact(arrays) || !PyTuple_CheckExact(known) || PyTuple_GET_SIZE(known) != 4)
        return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arrays); i++)
        if (Py_TYPE(PyTuple_GET_ITEM(arrays, i)) != array_type)
            return 0;
    return 1;
}

/* Make the arrays that were put off; 0, or -1. */
static int all_there(Leaves *leaves)
{
    for (Py_ssize_t i = 0; i < leaves->count; i++)
        if (Py_TYPE(leaves->at[i]) != array_type) {
            PyObject *array = PyObject_GetAttr(leaves->at[i], s_array);
            if (array == NULL)
                return -1;
            Py_SETREF(leaves->at[i], array);
        }
    return 0;
}

/* Whether `x.name()` is true: 1, 0, -1. */
static int says(PyObject *x, PyObject *name)
{
    PyObject *answer = PyObject_CallMethodNoArgs(x, name);
    if (answer == NULL)
        return -1;
    int is_true = PyObject_IsTrue(answer);
    Py_DECREF(answer);
    return is_true;
}

#include "_lending.h"

static int put_raw(PyObject *list, Py_ssize_t at, PyObject *array, Frame *f, Leaves *leaves, Py_ssize_t leaf)
{
    PyObject *raw = NULL;
    if (Py_TYPE(array) == array_type)
        raw = Py_XNewRef(SLOT(array, at_raw));
    else if ((raw = lent_raw(f, leaves, leaf)) == NULL && !PyErr_Occurred())
        raw = PyObject_GetAttr(array, s_raw);
    if (raw == NULL && PyErr_Occurred())
        return -1;
    PyList_SET_ITEM(list, at, raw == NULL ? Py_NewRef(Py_None) : raw);
    return 0;
}

/* Whether this is `reading` of rabbet.runtime.execution.frames.FrameParts, for so many arguments. */
static int is_reading(PyObject *x, Py_ssize_t count)
{
    if (x == NULL || !PyTuple_CheckExact(x) || PyTuple_GET_SIZE(x) != 2)
        return 0;
    PyObject *kept = PyTuple_GET_ITEM(x, 0), *parts = PyTuple_GET_ITEM(x, 1);
    if (!PyTuple_CheckExact(kept) || !PyTuple_CheckExact(parts) || PyTuple_GET_SIZE(parts) != 3)
        return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kept); i++) {
        if (!PyLong_CheckExact(PyTuple_GET_ITEM(kept, i)))
            return 0;
        int overflow;
        long place = PyLong_AsLongAndOverflow(PyTuple_GET_ITEM(kept, i), &overflow);
        if (overflow || place < 0 || place >= count)
            return 0;
    }
    return 1;
}

/* A list of the raw arrays of what was captured, a tuple or NULL, and of arguments; of those that `kept` has the
   places of, where that is not NULL. */
static PyObject *raws_of(Frame *f, PyObject *captured, Leaves *leaves, PyObject *kept)
{
    Py_ssize_t first = captured == NULL ? 0 : PyTuple_GET_SIZE(captured);
    Py_ssize_t count = kept == NULL ? first + leaves->count : PyTuple_GET_SIZE(kept);
    PyObject *raws = PyList_New(count + 1); /* with room for one more, the table of `run_steady` */
    if (raws == NULL)
        return NULL;
    Py_SET_SIZE(raws, count);
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t place = kept == NULL ? i : PyLong_AsSsize_t(PyTuple_GET_ITEM(kept, i));
        PyObject *array = place < first ? PyTuple_GET_ITEM(captured, place) : leaves->at[place - first];
        if (put_raw(raws, i, array, f, leaves, place - first) < 0) {
            Py_DECREF(raws);
            return NULL;
        }
    }
    return raws;
}

/* ---------------------------------------------------------------------------------- loops that a signal ends */

/* The places in LoopParts of rabbet.runtime.execution.frames. */
enum { PLAIN, TABLE, GOES_ON, THREAD, CALLBACKS, STATE, SEEN, OTHERWISE, OF_CALLBACK, PARTS };

#define PART(i) PyTuple_GET_ITEM(parts, i)

static int is_steady(PyObject *parts)
{
    return PyTuple_Check(parts) && PyTuple_GET_SIZE(parts) == PARTS && PyMemoryView_Check(PART(GOES_ON)) &&
           PyMemoryView_GET_BUFFER(PART(GOES_ON))->len == 2 && !PyMemoryView_GET_BUFFER(PART(GOES_ON))->readonly &&
           PyLong_Check(PART(THREAD)) && PyList_CheckExact(PART(STATE)) && PyList_GET_SIZE(PART(STATE)) == 2 &&
           PyList_CheckExact(PART(SEEN));
}

/* What a weak reference refers to, to be compared; NULL where it is gone. */
static void *referent(PyObject *reference)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *object = NULL;
    if (PyWeakref_GetRef(reference, &object) < 0)
        PyErr_Clear(); /* it is none */
    Py_XDECREF(object);
    return object;
#else
    return PyWeakref_Check(reference) ? PyWeakref_GET_OBJECT(reference) : NULL;
#endif
}

/* Whether this thread is in callbacks of programs: 1, 0, -1. */
static int is_inside(PyObject *callbacks)
{
    PyObject *depth = get_local(&of_callbacks, callbacks, s_depth);
    int inside = depth == NULL ? -1 : PyObject_IsTrue(depth);
    Py_XDECREF(depth);
    return inside;
}

/* Whether the program begins on this thread and at once: 1, 0, -1. */
static int begins_here(PyObject *parts, PyObject *raws)
{
    unsigned long main = PyLong_AsUnsignedLong(PART(THREAD));
    if (main == (unsigned long)-1 && PyErr_Occurred())
        return -1;
    if (PyThread_get_thread_ident() != main)
        return 0;
    int inside = is_inside(PART(CALLBACKS));
    if (inside != 0)
        return inside < 0 ? -1 : 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(raws); i++) {
        PyObject *raw = PyList_GET_ITEM(raws, i); /* nobody else has the list */
        if (i < PyList_GET_SIZE(PART(SEEN)) && referent(PyList_GET_ITEM(PART(SEEN), i)) == raw)
            continue;
        int deleted = says(raw, s_is_deleted); /* first: jaxlib 0.10 ends the process where such a one is asked more */
        if (deleted != 0)
            return deleted < 0 ? -1 : 0;
        int ready = says(raw, s_is_ready);
        if (ready <= 0)
            return ready;
    }
    return 1;
}

static PyTypeObject *watch_type;
static Py_ssize_t at_watch_table, at_watch_sure;

/* Whether a watch has its attributes where the first one had them; not where they are in no slots, in another core. */
static int is_watch(PyObject *watch)
{
    if (watch_type == NULL && watch != Py_None) {
        if ((at_watch_table = offset_in((PyObject *)Py_TYPE(watch), "table")) < 0 ||
            (at_watch_sure = offset_in((PyObject *)Py_TYPE(watch), "sure")) < 0) {
            PyErr_Clear();
            return 0;
        }
        watch_type = (PyTypeObject *)Py_NewRef(Py_TYPE(watch));
    }
    return Py_TYPE(watch) == watch_type;
}

/* What `run` of rabbet.runtime.execution.interruptible.stoppable does. `*last` is set where the exception is that
   of a signal's handler, and nothing is to be tried instead. */
static PyObject *run_steady(PyObject *function, PyObject *parts, PyObject *raws, int *last)
{
    int here = begins_here(parts, raws);
    if (here < 0)
        return NULL;
    /* What came until now is handled first. From here on nobody else has the global lock until the program gives
       it back: a signal that comes meanwhile is told to the watch, which then finds `goes_on`. */
    if (PyErr_CheckSignals() < 0) {
        *last = 1;
        return NULL;
    }
    PyObject *watch = Py_NewRef(PyList_GET_ITEM(PART(STATE), 0)), *spare = Py_NewRef(PyList_GET_ITEM(PART(STATE), 1));
    PyObject *results = NULL, *error = NULL;
    if (!here || !is_watch(watch) || SLOT(watch, at_watch_table) != spare || SLOT(watch, at_watch_sure) != Py_True)
        goto carefully;
    Py_ssize_t count = PyList_GET_SIZE(raws);
    if (PyList_Append(raws, PART(TABLE)) < 0)
        goto end;
    Py_SETREF(SLOT(watch, at_watch_table), Py_NewRef(PART(GOES_ON)));
    results = PyObject_CallOneArg(PART(PLAIN), raws);
    if (results == NULL)
        error = take_error();
    Py_XSETREF(SLOT(watch, at_watch_table), Py_NewRef(spare));
    volatile char *goes_on = (char *)PyMemoryView_GET_BUFFER(PART(GOES_ON))->buf + 1;
    int whole = *goes_on != 0;
    *goes_on = 1;
    if (results != NULL && whole)
        goto end;
    int again = 1;
    if (error != NULL) {
        PyObject *answer = whole ? Py_NewRef(Py_False) : PyObject_CallOneArg(PART(OF_CALLBACK), error);
        if (answer == NULL)
            goto end;
        again = answer == Py_True;
        Py_DECREF(answer);
    }
    if (!again) {
        give_error(error);
        error = NULL;
        goto end;
    }
    Py_CLEAR(results);
    if (PyList_SetSlice(raws, count, PyList_GET_SIZE(raws), NULL) == 0)
        results = PyObject_CallOneArg(PART(OTHERWISE), raws);
    goto end;
carefully:
    results = PyObject_CallOneArg(function, raws);
end:
    Py_XDECREF(error);
    Py_DECREF(watch);
    Py_DECREF(spare);
    return results;
}

/* What a program gives for a list of raw arrays, which nobody else has. */
static PyObject *executed(PyObject *execute, PyObject *raws, int *last)
{
    PyObject *parts = attribute_of(execute, s_steady);
    if (parts == NULL)
        return PyErr_Occurred() ? NULL : PyObject_CallOneArg(execute, raws);
    Py_INCREF(parts);
    PyObject *results = is_steady(parts) ? run_steady(execute, parts, raws, last) : PyObject_CallOneArg(execute, raws);
    Py_DECREF(parts);
    return results;
}
