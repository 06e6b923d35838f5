"""The options of Inductor: of ``torch.compile(options=...)``, and of ``torch._inductor.config``. They choose how
PyTorch writes and tunes C++ and Triton; a program of NumPy is the same with any of them.
"""
from __future__ import annotations

import warnings
from typing import Any

ON = """
    _use_fp64_for_unbacked_floats alignment_asserts allow_buffer_reuse aot_inductor.check_lowerbound
    aot_inductor.dynamic_linkage aot_inductor.enable_frame_pointer aot_inductor.enable_line_tables
    aot_inductor.link_libtorch aot_inductor.package_constants_in_so aot_inductor.precompile_headers
    aot_inductor.raise_error_on_ignored_optimization aot_inductor.use_consts_asm_build apply_gumbel_max_trick
    assert_indirect_indexing aten_distributed_optimizations.enable_fusion_regions
    aten_distributed_optimizations.pre_bucketing_fsdp_collectives
    aten_distributed_optimizations.prioritize_bucketing_during_scheduling autoheuristic_use.mixed_mm
    autotune_local_cache batch_fusion benchmark_epilogue_fusion benchmark_harness bw_outputs_user_visible
    combo_kernel_autotune_grouping combo_kernel_foreach_dynamic_shapes comprehensive_padding
    constant_and_index_propagation cpp.enable_loop_tail_vec cpp.enable_tiling_heuristics
    cpp.fallback_scatter_reduce_sum cpp.no_redundant_loops cpp.use_constexpr_for_int_array cpp.weight_prepack
    cpp_cache_precompile_headers cuda.cutlass_prescreening cuda.enable_caching_codegen cuda.use_binary_remote_cache
    cutlass.cutlass_prescreening cutlass.enable_caching_codegen cutlass.use_binary_remote_cache
    delay_realize_cheap_outputs disable_padding_cpu disable_progress dynamic_scale_rblock
    emulate_precision_casts_on_saved_tensors enable_auto_functionalized_v2 enable_caching_generated_triton_templates
    epilogue_fusion fx_graph_cache graph_partition implicit_fallbacks inplace_buffers inplace_padding
    joint_graph_constant_folding keep_addmm_fused_for_half_dtypes keep_output_stride layout_optimization
    lookup_table.check_src_hash loop_index_inversion_in_fusion loop_ordering_after_fusion
    loop_reindexing_after_fusion max_autotune_report_choices_stats non_blocking_remote_cache_write online_softmax
    optimize_scatter_upon_const_tensor pattern_matcher pick_loop_orders prologue_fusion quiesce_async_compile_pool
    reorder_for_locality reorder_for_peak_memory rocm.flush_denormals rocm.use_fast_math scalar_asserts
    shape_padding size_asserts split_cat_fx_passes split_reductions static_weight_shapes
    test_configs.assume_bucketing_reduces_latency trace.fx_graph trace.fx_graph_transformed trace.ir_post_fusion
    trace.ir_pre_fusion trace.output_code triton.autotune_cublasLt triton.autotune_pointwise
    triton.coalesce_tiling_analysis triton.codegen_upcast_to_fp32 triton.cudagraph_support_input_mutation
    triton.cudagraph_trees triton.divisible_by_16 triton.dynamic_disable_pipelining triton.emit_pointer_range_32
    triton.mix_order_reduction triton.mix_order_reduction_allow_multi_stages triton.persistent_reductions
    triton.proton_group_by_sm triton.proton_per_cta_occupancy triton.proton_split_invocations
    triton.reorder_for_reducing_graph_partitions triton.slow_path_cudagraph_asserts
    triton.tiling_prevents_pointwise_fusion triton.tiling_prevents_reduction_fusion
    triton.transpose_discontiguous_tensor_descriptor triton.unique_kernel_names use_dce use_experimental_benchmarker
    use_fast_triton_launcher use_joint_graph_passes use_launch_metadata_schema use_mixed_mm use_post_grad_passes
    use_pre_grad_passes use_static_cuda_launcher worker_suppress_logging write_are_deterministic_algorithms_enabled
    xpu.cutlass_prescreening xpu.enable_caching_codegen xpu.use_binary_remote_cache
"""
OFF = """
    _collective.auto_select _fuse_ddp_communication _micro_pipeline_tp _raise_error_for_testing aggressive_fusion
    align_random_eager always_keep_tensor_constants annotate_training aot_inductor.allow_stack_allocation
    aot_inductor.autotune_per_kernel_alloc aot_inductor.debug_compile aot_inductor.debug_symbols
    aot_inductor.dump_aoti_minifier aot_inductor.enable_lto aot_inductor.force_mmap_weights aot_inductor.package
    aot_inductor.use_minimal_arrayref_interface aot_inductor.use_runtime_constant_folding
    aot_inductor.weight_use_caching_allocator aot_inductor_mode.compile_standalone assume_32bit_indexing
    assume_aligned_inputs assume_unaligned_fallback_output aten_distributed_optimizations.allow_comms_decompositions
    aten_distributed_optimizations.bucket_only_internode_comms
    aten_distributed_optimizations.enable_low_contention_collectives
    aten_distributed_optimizations.enable_overlap_scheduling
    aten_distributed_optimizations.log_final_collectives_estimations
    aten_distributed_optimizations.low_contention_skip_overlap_check
    aten_distributed_optimizations.overlap_scheduling_autofix_cycles
    aten_distributed_optimizations.pre_bucketing_fsdp_collectives_verbose aten_distributed_optimizations.spmd_check
    auto_chunker.enable autoheuristic_collect.mixed_mm autoheuristic_collect.pad_mm autotune_fallback_to_aten
    autotune_in_subproc autotune_multi_device b2b_gemm_pass batch_invariant benchmark_combo_kernel benchmark_fusion
    benchmark_kernel cache_sdpa_constraint can_inplace_pad_graph_input check_stack_no_cycles_TESTING_ONLY
    combo_kernel_per_subkernel_blocks combo_kernels combo_kernels_pointwise_only comment_origin compute_all_bounds
    conv_1x1_as_mm coordinate_descent_check_all_directions coordinate_descent_tuning cpp.dynamic_threads
    cpp.enable_concat_linear cpp.enable_grouped_gemm_template cpp.enable_kernel_profile
    cpp.enable_unsafe_math_opt_flag cpp.force_inline_kernel cpp.use_decompose_tanh cpp.use_small_dequant_buffer
    cpp_wrapper cpp_wrapper_build_separate cuda.binary_remote_cache_force_write cuda.cutlass_epilogue_fusion_enabled
    cuda.cutlass_hash_with_compile_cmd cuda.cutlass_tma_only cuda.enable_cuda_lto cuda.enable_debug_info
    cuda.enable_ptxas_info cuda.generate_test_runner cuda.upload_to_binary_remote_cache cuda.use_fast_math
    cutedsl_enable_autotuning cutlass.binary_remote_cache_force_write cutlass.cutlass_epilogue_fusion_enabled
    cutlass.cutlass_hash_with_compile_cmd cutlass.cutlass_tma_only cutlass.enable_debug_info
    cutlass.generate_test_runner cutlass.upload_to_binary_remote_cache cutlass.use_fast_math dce debug debug_fusion
    debug_index_asserts debug_ir_traceback decompose_mem_bound_mm dedup_reduce_scatters deterministic
    developer_warnings disable_cpp_codegen distributed_max_autotune_gemm do_not_emit_runtime_assertions
    eager_numerics.disable_ftz eager_numerics.division_rounding eager_numerics.use_pytorch_libdevice
    efficient_conv_bn_eval_fx_passes emulate_precision_casts enable_autograd_for_aot enable_linear_binary_folding
    epilogue_fusion_first epilogue_fusion_user_defined_triton_kernel epilogue_fusion_with_atomic_add
    expand_dimension_for_pointwise_nodes fallback_by_default fallback_embedding_bag_byte_unpack fallback_random
    force_disable_cudagraph_TESTING_ONLY force_fuse_int_mm_with_mul force_layout_optimization force_pointwise_cat
    force_shape_pad freezing freezing_discard_parameters fx_wrapper generate_intermediate_hooks group_fusion
    halide.asserts halide.debug halide.scan_kernels is_nightly_or_source is_predispatch keep_static_cubin_raw
    log_tlparse max_autotune max_autotune_allow_flexible_layouts max_autotune_gemm max_autotune_pointwise
    max_autotune_prune_choices_based_on_shared_mem memory_planning mtia.disable_welford_reduction nan_asserts
    nvgemm_supplement_configs pad_channels_last pad_dynamic_shapes pad_outputs partitioned_scatter_enabled
    permute_fusion pipeline_max_autotune_gemm profile_bandwidth profile_bandwidth_with_do_bench_using_profiling
    profiler_mark_wrapper_call remote_gemm_autotune_cache reorder_for_compute_comm_overlap
    reorder_for_peak_memory_debug rocm.generate_test_runner rocm.is_debug rocm.origami
    rocm.print_kernel_resource_usage rocm.save_temps rocm.use_preselected_instances run_jit_post_compile_hook
    runtime_estimations_mms_benchmark runtime_triton_nan_asserts save_args search_autotune_cache selective_decompose
    static_launch_user_defined_triton_kernels strict_static_cuda_launcher
    test_configs.bisect_keep_custom_backend_for_inductor test_configs.bisect_pre_grad_graph
    test_configs.force_extern_kernel_in_multi_template test_configs.force_filter_reduction_configs
    test_configs.force_no_impl_grouping test_configs.graphsafe_rng_func_ignores_fallback_random
    test_configs.runtime_triton_dtype_assert test_configs.runtime_triton_shape_assert
    test_configs.static_cpp_dtype_assert test_configs.use_libtorch trace.compile_profile trace.debug_log
    trace.draw_orig_fx_graph trace.enabled trace.graph_diagram trace.info_log trace.log_autotuning_results
    trace.save_real_tensors triton.autotune_with_sample_inputs triton.cooperative_reductions
    triton.cudagraph_or_error triton.cudagraph_skip_dynamic_graphs triton.cudagraph_trees_history_recording
    triton.cudagraph_trees_objgraph triton.cudagraphs triton.debug_sync_graph triton.debug_sync_kernel
    triton.decompose_sort_ops triton.dense_indexing triton.disallow_failing_autotune_kernels_TESTING_ONLY
    triton.enable_pdl triton.enable_persistent_tma_matmul triton.enable_template_tma_store
    triton.enable_tma_load_for_template_epilogue triton.fast_path_cudagraph_asserts
    triton.force_cooperative_reductions triton.force_cudagraph_sync triton.force_cudagraphs_warmup
    triton.mix_order_reduction_autotune_split_size triton.mix_order_reduction_non_strict_mode triton.native_matmul
    triton.nested_reduction triton.prefer_nd_tiling triton.proton_profiling triton.skip_cudagraph_warmup
    triton.skip_l1_cache triton.store_cubin triton.tile_reductions triton.unique_user_kernel_names
    triton.use_block_ptr triton.use_tensor_descriptor triton_disable_device_detection
    unsafe_ignore_unsupported_triton_autotune_args unsafe_skip_cache_dynamic_shape_guards use_fast_math
    use_torch_profiler_benchmarker verbose_progress warn_mix_layout wrap_inductor_compiled_regions
    xpu.binary_remote_cache_force_write xpu.cutlass_epilogue_fusion_enabled xpu.cutlass_hash_with_compile_cmd
    xpu.cutlass_tma_only xpu.enable_debug_info xpu.generate_test_runner xpu.upload_to_binary_remote_cache
    xpu.use_fast_math
"""
INTEGERS = """
    _collective.one_shot_all_reduce_threshold_bytes=131072 _fuse_ddp_bucket_size=25
    _realize_acc_reads_threshold_default=8 _realize_opcount_threshold_default=30 aot_inductor.repro_level=2
    aten_distributed_optimizations.low_contention_min_bytes_per_rank=16777216 auto_chunker.amplify_ratio_threshold=8
    auto_chunker.output_size_threshold=1048576 collective_benchmark_nruns=50 combo_kernel_allow_mixed_sizes=1
    combo_kernel_max_distance=-1 combo_kernel_max_num_args=250 combo_kernel_max_num_nodes=8 combo_kernels_autotune=1
    compile_worker_wait_timeout=0 coordinate_descent_search_radius=1 cpp.gemm_max_k_slices=1
    cpp.max_horizontal_fusion_size=16 cpp.min_chunk_size=512 cpp.threads=-1 cpp.use_two_step_variance_threshold=1024
    cuda.cutlass_backend_min_gemm_size=1 cutlass.cutlass_backend_min_gemm_size=1 file_lock_timeout=600
    inductor_default_autotune_rep=100 inductor_default_autotune_warmup=25 kernel_name_max_ops=10
    max_complex_pointwise_cat_inputs=8 max_epilogue_benchmarked_choices=1
    max_fusion_buffer_group_pairwise_attempts=64 max_fusion_size=64 max_pointwise_cat_inputs=8 min_num_split=0
    padding_alignment_bytes=128 padding_stride_threshold=1024 partitioned_scatter_max_partitions=128
    partitioned_scatter_min_partitions=2 precompilation_timeout_seconds=300 quiesce_async_compile_time=60
    realize_cpu_acc_reads_threshold=12 realize_cpu_opcount_threshold=50 realize_reads_threshold=4
    rocm.contiguous_threshold=16 rocm.origami_topk=6 rocm.split_k_threshold=16 score_fusion_memory_threshold=10
    size_threshold_for_succ_based_strategy=0 small_memory_access_threshold=16777216
    trace.provenance_tracking_level=0 triton.cudagraph_min_partition_size=0
    triton.cudagraph_unexpected_rerecord_limit=128 triton.decompose_k_threshold=32
    triton.max_kernel_dump_occurrences=3 triton.min_split_scan_rblock=256
    triton.mix_order_reduction_initial_xblock=1 triton.mix_order_reduction_max_reads=10
    triton.num_decompose_k_splits=10 triton.spill_threshold=16 triton.use_two_step_variance_min_numel=1024
    triton.use_two_step_variance_threshold=32768 unbacked_symint_fallback=8192 unroll_reductions_threshold=8
    xpu.cutlass_backend_min_gemm_size=1
"""
FLOATS = """
    aten_distributed_optimizations.pre_bucketing_fsdp_collectives_max_bucket_cap_mb=500.0
    aten_distributed_optimizations.pre_bucketing_fsdp_collectives_min_bucket_cap_mb=10.0
    aten_distributed_optimizations.pre_bucketing_fsdp_collectives_saturation_calibration_multiplier=1.0
    collective_benchmark_timeout=30.0 cpu_gpu_bw=50.0 max_autotune_subproc_graceful_timeout_seconds=0.0
    max_autotune_subproc_result_timeout_seconds=60.0 max_autotune_subproc_terminate_timeout_seconds=0.0
    min_overlap_ratio=1.1 partitioned_scatter_memory_budget=0.1 triton.cudagraph_partition_memory_budget=1.1
"""
STRINGS = """
    _conv_default_backends=ATEN _profile_var= aot_inductor.compile_wrapper_opt_level=O1 aot_inductor.output_path=
    aot_inductor.serialized_in_spec= aot_inductor.serialized_out_spec= autoheuristic_log_path=DEFAULT
    cpp.enable_floating_point_contract_flag=off cuda.compile_opt_level=-O1 cuda.cutlass_dir=
    cuda.cutlass_enabled_ops=all cuda.cutlass_instantiation_level=0 cutlass.cutlass_dir=
    cutlass.cutlass_enabled_ops=all cutlass.cutlass_instantiation_level=0 disabled_passes= enabled_metric_tables=
    estimate_op_runtime=default halide.cpu_target=host halide.gpu_target=host-cuda layout_opt_default=1
    max_autotune_conv_backends=ATEN,TRITON max_autotune_conv_bwd_input_backends=ATEN
    max_autotune_conv_bwd_weight_backends=ATEN max_autotune_gemm_backends=ATEN,TRITON,CPP profile_bandwidth_regex=
    test_configs.distort_benchmarking_result= torchinductor_worker_logpath= trace.graph_diagram_format=svg
    trace.orig_fx_graph_diagram_format=svg worker_start_method=subprocess xpu.compile_opt_level=-O1 xpu.cutlass_dir=
    xpu.cutlass_enabled_ops=all xpu.cutlass_instantiation_level=0
"""
OTHERS = """
    _cache_config_factory_keys _cache_config_ignore_prefix _fuse_ddp_communication_passes _post_fusion_custom_pass
    _pre_fusion_custom_pass _save_config_ignore add_pre_grad_passes aot_inductor.aoti_shim_library
    aot_inductor.aoti_shim_library_path aot_inductor.cross_target_platform aot_inductor.custom_op_libs
    aot_inductor.custom_ops_to_c_shims aot_inductor.debug_intermediate_value_printer
    aot_inductor.embed_kernel_binary aot_inductor.emit_multi_arch_kernel aot_inductor.filtered_kernel_names
    aot_inductor.metadata aot_inductor.model_name_for_generated_files aot_inductor.package_constants_on_disk_format
    aot_inductor.package_cpp_only aot_inductor.presets aten_distributed_optimizations.bucket_exposed_first
    aten_distributed_optimizations.bucket_mode aten_distributed_optimizations.collective_bucketing
    aten_distributed_optimizations.collective_estimator aten_distributed_optimizations.compute_estimator
    aten_distributed_optimizations.compute_overlap_multipler
    aten_distributed_optimizations.custom_runtime_estimation aten_distributed_optimizations.insert_overlap_deps
    aten_distributed_optimizations.max_coll_distance aten_distributed_optimizations.max_compute_pre_fetch
    aten_distributed_optimizations.max_in_flight_gb aten_distributed_optimizations.max_memory_increase_gb
    aten_distributed_optimizations.max_memory_increase_ratio
    aten_distributed_optimizations.pre_bucketing_fsdp_collectives_bucket_cap_mb
    aten_distributed_optimizations.profile_guided_estimations_profile_path
    aten_distributed_optimizations.spmd_mismatch auto_chunker.num_chunk autoheuristic_use.pad_mm
    autotune_lookup_table autotune_num_choices_displayed autotune_remote_cache bucket_all_gathers_bucket_mode
    bucket_all_gathers_fx bucket_all_gathers_fx_bucket_size_determinator bucket_all_reduces_fx
    bucket_all_reduces_fx_bucket_size_determinator bucket_reduce_scatters_bucket_mode bucket_reduce_scatters_fx
    bucket_reduce_scatters_fx_bucket_size_determinator bundle_triton_into_fx_graph_cache
    bundled_autotune_remote_cache combo_kernel_peak_memory_increase_gb combo_kernel_peak_memory_pct_threshold
    compile_threads cpp.cxx cpp.descriptive_names cpp.gemm_cache_blocking cpp.gemm_thread_factors
    cpp.inject_log1p_bug_TESTING_ONLY cpp.inject_relu_bug_TESTING_ONLY cpp.march cpp.simdlen cpp.vec_isa_ok
    cpu_backend cuda.arch cuda.cuda_cxx cuda.cutlass_dynamic_cluster_fallback cuda.cutlass_dynamic_cluster_shape
    cuda.cutlass_max_profiling_configs cuda.cutlass_max_profiling_swizzle_options cuda.cutlass_op_allowlist_regex
    cuda.cutlass_op_denylist_regex cuda.nvgemm_max_profiling_configs cuda.version cuda_backend cudagraph_policy
    cudagraph_unsafe_unbacked_ops custom_partitioner_fn custom_should_partition_ops cutlass.compile_opt_level
    cutlass.cutlass_dynamic_cluster_fallback cutlass.cutlass_dynamic_cluster_shape
    cutlass.cutlass_max_profiling_configs cutlass.cutlass_max_profiling_swizzle_options
    cutlass.cutlass_op_allowlist_regex cutlass.cutlass_op_denylist_regex external_matmul fx_graph_remote_cache
    fx_passes_numeric_check global_cache_dir halide.scheduler_cpu halide.scheduler_cuda incremental_autotune
    inductor_choices_class inter_node_bw intra_node_bw joint_custom_post_pass joint_custom_pre_pass
    lookup_table.table max_autotune_flex_search_space max_autotune_gemm_search_space max_fusion_unique_io_buffers
    memory_pool mixed_mm_choice multi_kernel_hints nvgemm_max_profiling_configs post_grad_custom_post_pass
    post_grad_custom_pre_pass post_grad_fusion_options pre_grad_custom_pass pre_grad_fusion_options
    pre_grad_pass_timing profile_bandwidth_output realize_acc_reads_size_threshold realize_acc_reads_threshold
    realize_opcount_threshold remove_pre_grad_passes reorder_for_compute_comm_overlap_passes reorder_prefetch_limit
    rocm.arch rocm.ck_dir rocm.ck_max_profiling_configs rocm.ck_supported_arch rocm.ck_tile_max_profiling_configs
    rocm.compile_opt_level rocm.kBatch_sweep rocm.n_max_profiling_configs rocm.rocm_home sleep_sec_TESTING_ONLY
    test_configs.autotune_choice_desc_regex test_configs.autotune_choice_name_regex
    test_configs.force_custom_op_decomposition test_configs.max_flex_configs test_configs.max_mm_configs
    test_configs.track_memory_lifecycle tpu_backend trace.debug_dir trace.dot_graph_shape
    trace.log_url_for_graph_xform trace.upload_tar triton.autotune_at_compile_time triton.cudagraph_capture_sizes
    triton.cudagraph_dynamic_shape_warn_limit triton.debug_dump_kernel_inputs triton.descriptive_names
    triton.inject_relu_bug_TESTING_ONLY triton.max_tiles triton.mix_order_reduction_split_size triton.multi_kernel
    triton.proton_output_dir triton_kernel_default_layout_constraint unsafe_marked_cacheable_functions
    worker_log_path xpu.arch xpu.cutlass_dynamic_cluster_fallback xpu.cutlass_dynamic_cluster_shape
    xpu.cutlass_max_profiling_configs xpu.cutlass_max_profiling_swizzle_options xpu.cutlass_op_allowlist_regex
    xpu.cutlass_op_denylist_regex xpu.oneapi_root xpu.version xpu_backend
"""
#: The value of each option, where PyTorch does not find it out: None for such a one, and for one of several types.
DEFAULTS: dict[str, Any] = {**dict.fromkeys(ON.split(), True), **dict.fromkeys(OFF.split(), False), **{
    name: kind(value) for kind, names in ((int, INTEGERS), (float, FLOATS), (str, STRINGS))
    for name, _, value in (given.partition("=") for given in names.split())}, **dict.fromkeys(OTHERS.split())}
#: The options that each mode stands for.
MODES: dict[str, dict[str, bool]] = {
    "default": {},
    "reduce-overhead": {"triton.cudagraphs": True},
    "max-autotune-no-cudagraphs": {"max_autotune": True, "coordinate_descent_tuning": True},
    "max-autotune": {"max_autotune": True, "triton.cudagraphs": True, "coordinate_descent_tuning": True}}


def list_options() -> list[str]:
    """Return the names of all options (``torch._inductor.list_options``)."""
    return [*DEFAULTS]


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, Any]:
    """Return the options that a mode stands for, or those of each mode (``torch._inductor.list_mode_options``).

    Raises:
        RuntimeError: for another mode.
    """
    if mode is None:
        return {name: dict(options) for name, options in MODES.items()}
    if mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    return dict(MODES[mode])


def check_options(options: dict[str, Any]) -> None:
    """Check options by name and type, and warn of a function among them: no program calls it.

    Raises:
        RuntimeError: PyTorch's, for an unknown name and a value of another type.
    """
    for key, value in options.items():
        name = key.replace("-", "_")
        if name not in DEFAULTS:
            raise RuntimeError(f"Unexpected optimization option {key}, known options are {[*DEFAULTS]}")
        kind = type(DEFAULTS[name])
        if DEFAULTS[name] is not None and not isinstance(value, kind):
            raise RuntimeError(f"Unexpected type of attr {key}, got {type(value).__name__} should be {kind.__name__}")
        if callable(value):
            warnings.warn(f"options[{key!r}] of torch.compile is not called: programs of NumPy have no such pass",
                          stacklevel=3)
