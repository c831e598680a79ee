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
    jax.ad_checkpoint checkpoint_name_fwd name_p
    jax.custom_derivatives custom_jvp_call_p custom_vjp_call_p remat_opt_p
    jax.experimental.custom_partitioning custom_partitioning_p
    jax.lax after_all_p approx_top_k_p copy_p create_token_p device_put_p eq_to_p le_to_p log2_p
     lt_to_p one_minus_square_p polynomial_p psum_scatter_start ragged_all_to_all_p round_p split_p
     stack_p stage_p tile_p unstack_p
    jax.extend.core.primitives add_jaxvals_p after_all_p approx_top_k_p call_p closed_call_p copy_p
     create_call_primitive create_token_p custom_jvp_call_p custom_lin_p custom_vjp_call_p
     device_put_p empty2_p eq_to_p eval_jaxpr_transpose get_p le_to_p log2_p lt_to_p
     one_minus_square_p polynomial_p ragged_all_to_all_p random_bits_p random_fold_in_p
     random_gamma_p random_seed_p random_split_p register_call_primitive_rules remat_p round_p
     swap_p
    jax.random random_gamma_p
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
    jax.experimental.multihost_utils global_array_to_host_local_array_impl
     global_array_to_host_local_array_p gtl_abstract_eval host_local_array_to_global_array_impl
     host_local_array_to_global_array_p ltg_abstract_eval ltg_batcher
    """,
    (
        "a helper of JAX's odeint",
        "rabbet.experimental.ode.odeint",
    ): """
    jax.experimental.ode abs2 fit_4th_order_polynomial initial_step_size interp_fit_dopri
     mean_error_ratio optimal_step_size promote_dtypes_inexact ravel_first_arg runge_kutta_step
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
    jax.extend.core Token AbstractToken create_call_primitive eval_jaxpr_transpose
     gensym nonempty_axis_env_DO_NOT_USE register_call_primitive_rules
    jax.interpreters.ad JVPTrace add_jaxvals_p backward_pass defjvp2 get_primitive_transpose
     jvp_jaxpr linearize
    jax.interpreters.batching batch_jaxpr_axes zero_if_mapped
    jax.interpreters.partial_eval close_jaxpr custom_partial_eval_rules dce_jaxpr_call_rule
     dce_jaxpr_closed_call_rule dce_rules lower_jaxpr lower_jaxpr2 move_binders_to_back
     new_eqn_recipe partial_eval_jaxpr_custom_rules partial_eval_jaxpr_nounits
     prune_closed_jaxpr_outputs
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
    jax.experimental.array_serialization.pytree_serialization load load_pytreedef nonblocking_load
     nonblocking_save save
    jax.experimental.array_serialization.pytree_serialization_utils deserialize_pytreedef
     register_pytree_node_serialization serialize_pytreedef
    jax.experimental.array_serialization.serialization AsyncManager BarrierTimeoutError Format
     GlobalAsyncCheckpointManager GlobalAsyncCheckpointManagerBase TS_CONTEXT async_deserialize
     async_serialize is_remote_storage logger run_deserialization run_serialization
    jax.experimental.array_serialization.tensorstore_impl Format Future PathLike Transaction
     async_deserialize async_serialize combine_kvstores estimate_read_memory_footprint
     get_tensorstore_spec is_tensorstore_spec_leaf logger merge_nested_ts_specs
     verify_tensorstore_spec
    """,
    (
        "an inner part of JAX's jet",
        "jax.experimental.jet.jet; rabbet.extend takes rules 'jet' beside a primitive",
    ): """
    jax.experimental.jet JetTrace JetTracer ZeroTerm call_param_updaters def_comp def_deriv
     deflinear defzero deriv_prop jet_rules linear_prop zero_prop zero_term
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
    jax.experimental.sparse CuSparseEfficiencyWarning SparseTracer bcoo_conv_general_dilated
     bcoo_dot_general_p bcoo_dot_general_sampled_p bcoo_extract_p bcoo_fromdense_p
     bcoo_sort_indices_p bcoo_spdot_general_p bcoo_sum_duplicates_p bcoo_todense_p bcoo_transpose_p
     bcsr_dot_general_p bcsr_extract_p bcsr_fromdense_p bcsr_todense_p coo_fromdense_p coo_matmat_p
     coo_matvec_p coo_todense_p csr_fromdense_p csr_matmat_p csr_matvec_p csr_todense_p todense_p
    jax.experimental.sparse.ad api_boundary flatten_fun_for_sparse_ad is_sparse
    jax.experimental.sparse.api todense_p
    jax.experimental.sparse.bcoo Buffer CUSPARSE_DATA_DTYPES CUSPARSE_INDEX_DTYPES
     bcoo_conv_general_dilated bcoo_dot_general_p bcoo_dot_general_sampled_p bcoo_extract_p
     bcoo_fromdense_p bcoo_sort_indices_p bcoo_spdot_general_p bcoo_sum_duplicates_p bcoo_todense_p
     bcoo_transpose_p coo_spmm_p coo_spmv_p ranges_like remaining
    jax.experimental.sparse.bcsr bcsr_dot_general_p bcsr_eliminate_zeros bcsr_extract_p
     bcsr_fromdense_p bcsr_todense_p
    jax.experimental.sparse.coo coo_fromdense_p coo_matmat_p coo_matvec_p coo_todense_p
     promote_dtypes
    jax.experimental.sparse.csr csr_fromdense_p csr_matmat_p csr_matvec_p csr_todense_p
     promote_dtypes
    jax.experimental.sparse.linalg spsolve_p
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
