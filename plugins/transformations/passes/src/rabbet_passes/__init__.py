"""Passes between tracing and lowering; each module is one, and says what was measured.

=====================  ==============================================  ==========
``cse``                compute equal things once                       on
``unread``             drop results of loops that nobody reads         on
``constant_folding``   compute what is known, cancel what undoes       on request
``weight_dots``        products with a weight as matrix products       on request
``outline``            repeated blocks as one function                 on request
=====================  ==============================================  ==========
"""
