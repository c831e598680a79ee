"""Names that public modules of jax have without meaning them for users.

``BROUGHT``: a module has them from another public one and shows them, too. ``INNER``: parts of how JAX works
inside; they can be read, and say the public way when they are called.
"""

from rabbet_jax.missing_names import REPORT

# Where names that a module shows are looked for.
HOMES = "jax jax.lax jax.tree_util jax.sharding jax.typing jax.flatten_util jax.api_util".split()


def _by_module(text):
    """Lines of a module and its names as pairs."""
    joined = text.replace("\n     ", " ").splitlines()
    return [(line.split()[0], " ".join(line.split()[1:])) for line in joined if line.strip()]


BROUGHT = dict(_by_module("""
    jax.experimental.array_serialization.tensorstore_impl make_single_device_sharding
    jax.experimental.fused debug_info tree_flatten tree_unflatten typeof
    jax.experimental.jet tree_flatten tree_unflatten tree_structure treedef_is_leaf
     register_pytree_node
    jax.experimental.multihost_utils P tree_flatten tree_unflatten
    jax.experimental.ode ravel_pytree tree_leaves tree_map
    jax.experimental.rnn Array custom_vjp
    jax.experimental.sparse.api Array DTypeLike
    jax.experimental.sparse.bcoo Array ArrayLike DTypeLike GatherDimensionNumbers GatherScatterMode
     vmap
    jax.experimental.sparse.bcsr Array ArrayLike DTypeLike
    jax.experimental.sparse.coo Array ArrayLike DTypeLike
    jax.experimental.sparse.csr Array ArrayLike DTypeLike
    jax.experimental.sparse.random Array DTypeLike vmap
    jax.experimental.sparse.test_util DTypeLike
    jax.experimental.sparse.transform tree_flatten tree_map tree_unflatten
    jax.experimental.sparse.util Array vmap
    jax.experimental.topologies Device
    jax.interpreters.mlir Mesh
"""))

# By the reason and the public way: modules with their names.
_INNER = {
    (
        "not written",
        "see docs/coming-from-jax.md for what there is",
    ): """
    jax remove_size_one_mesh_axis_from_type
    jax.experimental EArray primal_tangent_dtype
    jax.experimental.layout explicit_layout
    jax.sharding no_collectives
    """,
    (
        "a primitive that Rabbet has not, or has as a composition of others",
        "the function of jax.lax, jax.numpy or jax.random; rabbet.extend.passes walks through programs",
    ): """
    jax.ad_checkpoint checkpoint_name_fwd
    jax.custom_derivatives custom_jvp_call_p custom_vjp_call_p remat_opt_p
    jax.lax psum_scatter_start
    jax.extend.core.primitives custom_jvp_call_p custom_lin_p custom_vjp_call_p eval_jaxpr_transpose
     get_p swap_p
    """,
    (
        "an inner part of JAX's effects",
        "Rabbet keeps effects in its operations: equation.effects",
    ): """
    jax.debug DebugEffect OrderedDebugEffect
    """,
    (
        "an inner part of multihost_utils",
        "its functions",
    ): """
    jax.experimental.multihost_utils gtl_abstract_eval ltg_abstract_eval ltg_batcher
    """,
    (
        "a door to JAX's own compiler and backends",
        "rabbet.extend.backend registers backends, rb.jit(..., compiler_options=...) takes options",
    ): """
    jax.extend.backend clear_backends get_compile_options register_backend_factory
    jax.ffi build_ffi_lowering_function
    jax.interpreters.pxla create_compile_options
    jax.interpreters.xla Backend
    """,
    (
        "an inner part of JAX's transformations",
        "rabbet.extend.transform and rabbet.extend.primitive take rules",
    ): """
    jax.extend.core Token AbstractToken eval_jaxpr_transpose
    jax.interpreters.ad JVPTrace backward_pass linearize
    jax.interpreters.batching batch_jaxpr_axes
    jax.interpreters.partial_eval custom_partial_eval_rules dce_jaxpr_call_rule
     dce_jaxpr_closed_call_rule dce_rules new_eqn_recipe partial_eval_jaxpr_custom_rules
    """,
    (
        "a sharding as the compiler has it",
        "jax.sharding.NamedSharding says how arrays lie",
    ): """
    jax.extend.sharding GSPMDSharding get_hlo_sharding_from_serialized_proto
     get_op_sharding_from_serialized_proto get_serialized_proto_from_hlo_sharding
    """,
    (
        "reading of profiles by jaxlib",
        "rabbet.profiler writes profiles and reads its own",
    ): """
    jax.profiler ProfileEvent ProfileLine ProfilePlane export_profile_data
    """,
    (
        "saving through tensorstore",
        "rabbet.store saves and restores arrays, over processes too",
    ): """
    jax.experimental.array_serialization.pytree_serialization_utils deserialize_pytreedef
     register_pytree_node_serialization serialize_pytreedef
    jax.experimental.array_serialization.serialization AsyncManager BarrierTimeoutError Format
     GlobalAsyncCheckpointManagerBase TS_CONTEXT logger
    jax.experimental.array_serialization.tensorstore_impl Format Future PathLike Transaction
     async_deserialize async_serialize combine_kvstores estimate_read_memory_footprint
     get_tensorstore_spec is_tensorstore_spec_leaf logger merge_nested_ts_specs
     verify_tensorstore_spec
    """,
    (
        "an inner part of JAX's jet",
        "jax.experimental.jet.jet; rabbet.extend takes rules 'jet' beside a primitive",
    ): """
    jax.experimental.jet JetTrace JetTracer ZeroTerm call_param_updaters zero_term
    """,
    (
        "estimates of costs by JAX's primitives",
        "rabbet.planning estimates programs for devices",
    ): """
    jax.experimental.roofline RooflineResult RooflineRuleContext RooflineShape register_roofline
     register_standard_roofline roofline roofline_and_grad
    jax.experimental.roofline.roofline RooflineResult RooflineRuleContext RooflineShape
     ValidRooflineDtype broadcast_prefix dataclass dce_jaxpr field logger lower_jaxpr2
     register_roofline register_standard_roofline roofline roofline_and_grad shard_map_p
    jax.experimental.roofline.rooflines prim replace
    """,
    (
        "an inner part of JAX's sparse arrays",
        "the functions and classes of rabbet.experimental.sparse, and sparsify(f) for functions of one's own",
    ): """
    jax.experimental.sparse SparseTracer bcoo_conv_general_dilated
    jax.experimental.sparse.ad api_boundary flatten_fun_for_sparse_ad is_sparse
    jax.experimental.sparse.bcoo Buffer CUSPARSE_DATA_DTYPES CUSPARSE_INDEX_DTYPES
     bcoo_conv_general_dilated coo_spmm_p coo_spmv_p ranges_like remaining
    jax.experimental.sparse.bcsr bcsr_eliminate_zeros
    jax.experimental.sparse.coo promote_dtypes
    jax.experimental.sparse.csr promote_dtypes
    jax.experimental.sparse.test_util BatchedDotGeneralProperties MATMUL_TOL SparseLayout
     SparseTestCase is_sparse iter_bcsr_layouts iter_sparse_layouts iter_subsets rand_bcoo rand_bcsr
     rand_sparse
    jax.experimental.sparse.transform SparseTrace SparseTracer SparsifyEnv SparsifyValue
     arrays_to_spvalues bcoo_impl bcsr_impl eval_sparse impl lift_jvp method prim sparse_rules_bcoo
     sparse_rules_bcsr sparsify_fun sparsify_raw spvalues_to_arrays spvalues_to_avals
    jax.experimental.sparse.util flatten_axes
    """,
}

# By module: the names, and the reason with the public way.
INNER = {
    module: (names, (why, f"{way}; where a library needs the name itself, {REPORT}"))
    for (why, way), text in _INNER.items()
    for module, names in _by_module(text)
}
