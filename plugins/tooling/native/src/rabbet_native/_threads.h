/* Attributes of a threading.local, as the main thread has them: to ask Python takes four times as long. */

static PyTypeObject *local_type;    /* _thread._local */
static unsigned long main_thread;   /* the number that threading gives it */

/* What is known of one such object: its dict in the main thread. A thread's state has a number of its own for ever. */
typedef struct {
    PyObject *object, *dict;
    uint64_t state;
} Local;

static Local of_context, of_settings, of_callbacks;

/* Get to know the dict of this thread: 1; 0 where it is another thread, or another object; -1. */
static int learn(Local *known, PyObject *object, uint64_t state)
{
    if (PyThread_get_thread_ident() != main_thread || local_type == NULL || !PyObject_TypeCheck(object, local_type) ||
        (known->object != NULL && known->object != object))
        return 0;
    PyObject *dict = PyObject_GetAttrString(object, "__dict__");
    if (dict == NULL)
        return -1;
    if (!PyDict_CheckExact(dict)) {
        Py_DECREF(dict);
        return 0;
    }
    Py_XSETREF(known->object, Py_NewRef(object));
    Py_XSETREF(known->dict, dict);
    known->state = state;
    return 1;
}

/* `object.name`, with a reference. */
static PyObject *get_local(Local *known, PyObject *object, PyObject *name)
{
    uint64_t state = PyThreadState_GetID(PyThreadState_Get());
    if (known->object != object || known->state != state) {
        int is_known = learn(known, object, state);
        if (is_known <= 0)
            return is_known < 0 ? NULL : PyObject_GetAttr(object, name);
    }
    PyObject *value = PyDict_GetItemWithError(known->dict, name);
    if (value != NULL)
        return Py_NewRef(value);
    if (PyErr_Occurred())
        return NULL;
    value = _PyType_Lookup(Py_TYPE(object), name); /* that of all threads */
    return value != NULL && Py_TYPE(value)->tp_descr_get == NULL ? Py_NewRef(value) : PyObject_GetAttr(object, name);
}
