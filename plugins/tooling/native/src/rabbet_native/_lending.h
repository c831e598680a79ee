/* NumPy arrays in memory that programs read: copying a small one there takes a tenth of the time in which it is put
   on the device. */

/* What `lent` has for a place: what `lend` gave, and the placement for which that was asked. */
enum { LENT_RAW, LENT_BYTES, LENT_SPEC, LENT_PARTS };

/* What is lent for a place, taken out of `lent`, with a reference; NULL where nothing is, or with an exception. */
static PyObject *take_lent(Frame *f, PyObject *place, PyObject *spec)
{
    PyObject *entry = PyDict_GetItemWithError(f->lent, place);
    if (entry != NULL) {
        Py_INCREF(entry);
        if (PyDict_DelItem(f->lent, place) < 0)
            Py_CLEAR(entry);
        else if (PyTuple_GET_ITEM(entry, LENT_SPEC) == spec)
            return entry;
        Py_CLEAR(entry);
    }
    if (PyErr_Occurred())
        return NULL;
    PyObject *pair = PyObject_CallOneArg(f->lend, spec);
    if (pair == NULL)
        return NULL;
    if (PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2 && PyMemoryView_Check(PyTuple_GET_ITEM(pair, 1)) &&
        !PyMemoryView_GET_BUFFER(PyTuple_GET_ITEM(pair, 1))->readonly)
        entry = PyTuple_Pack(LENT_PARTS, PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1), spec);
    else
        PySet_Add(f->whole, place);
    Py_DECREF(pair);
    return entry;
}

/* The raw array of memory that is lent for a leaf, with its bytes in it and with a reference; NULL where it has to
   be put on the device, or with an exception. */
static PyObject *lent_raw(Frame *f, Leaves *leaves, Py_ssize_t at)
{
    PyObject *later = leaves->at[at];
    if (Py_TYPE(later) != later_type || f->lend == Py_None || f->missed >= MOST_MISSED ||
        leaves->lent_count == MOST_LENT)
        return NULL;
    PyObject *place = PyLong_FromSsize_t(at), *entry = NULL, *raw = NULL;
    int is_whole = place == NULL ? -1 : PySet_Contains(f->whole, place);
    if (is_whole == 0)
        entry = take_lent(f, place, SLOT(later, at_later_spec));
    Py_XDECREF(place);
    if (entry == NULL)
        return NULL;
    Py_buffer given, *room = PyMemoryView_GET_BUFFER(PyTuple_GET_ITEM(entry, LENT_BYTES));
    if (PyObject_GetBuffer(SLOT(later, at_later_host), &given, PyBUF_SIMPLE) < 0) {
        if (PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_BufferError))
            PyErr_Clear(); /* its numbers do not lie one after the other */
        f->missed++;
    }
    else {
        if (given.len == room->len) {
            memcpy(room->buf, given.buf, given.len);
            raw = Py_NewRef(PyTuple_GET_ITEM(entry, LENT_RAW));
            leaves->places[leaves->lent_count] = at;
            leaves->lent[leaves->lent_count++] = Py_NewRef(entry);
        }
        PyBuffer_Release(&given);
    }
    Py_DECREF(entry);
    return raw;
}

/* Let the next call have what was lent for this one, if its program is done: `results` are its raw arrays. 0, or -1. */
static int keep_lent(Frame *f, Leaves *leaves, PyObject *results)
{
    if (leaves->lent_count == 0)
        return 0;
    int ready = PyList_GET_SIZE(results) == 0 ? 0 : says(PyList_GET_ITEM(results, 0), s_is_ready);
    if (ready < 0)
        return -1;
    f->missed = ready ? 0 : f->missed + 1;
    for (Py_ssize_t i = 0; ready && i < leaves->lent_count; i++) {
        PyObject *place = PyLong_FromSsize_t(leaves->places[i]);
        int failed = place == NULL || PyDict_SetItem(f->lent, place, leaves->lent[i]) < 0;
        Py_XDECREF(place);
        if (failed)
            return -1;
    }
    return 0;
}
