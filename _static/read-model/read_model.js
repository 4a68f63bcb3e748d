// What a model's config.json means: attention, rotation, bytes and seconds of its layers.
//
//   import { useRules, readModel, readTableModel } from "./read_model.js";
//   useRules(rules);                    // once: the object in rules.json
//   readModel(input, wanted)            // input: the text of a config.json, or its object
//   readTableModel(name, wanted)        // a model of the book's table, by its name
//
// Nothing is thrown and nothing is executed; both functions return plain JSON data. A page that is
// opened from disk may not load modules: there this file stands inside the page, in
// <script type="module">. That is why it is one file without imports.
//
// wanted, all optional:
//   length            tokens of one text (the length that the configuration offers, or 4096)
//   batch             texts at the same time (1); batches: a list for `step` (1, 2, 4 … 256)
//   weights_bytes     bytes of all weights, as `total_size` of the index file says; or
//   parameters        their number, each with the bits that follow
//   active_parameters parameters that one token uses, for a model with experts; without it,
//                     `step` and `prefill` of such a model are null unless its family is counted
//   weight_bytes      bytes per number of the weights (as quantization_config says, otherwise 2)
//   cache_bytes       bytes per number of the cache (2)
//   gpu               {bandwidth: bytes per second, peak: operations per second, memory: bytes};
//                     what is missing is that of the first GPU of the rules. rules.gpus has names,
//                     bandwidths, memories, peaks by dtype
//   gpus              GPUs of that kind, which share weights and key-value heads equally (1)
//
// result: {error: {reason, text}} if there is nothing to read, otherwise
//   causal: false for an encoder, whose tokens see later ones, too
//   name, model_type, heads, width, layer_count, context (tokens offered), trained_length (tokens)
//   layers: a list of kinds of layers
//     kind, role ("full", "window", "chunk", "compressed", "recurrent", "none"), count, indices
//     attention: null for recurrent layers, or heads, kv_heads, group (query heads per key-value
//       head), head_dim, key_dim, value_dim, latent, rotary, window, chunk, compress,
//       same_key_value, shared, index, scale (factor of the scores, YaRN's included), plain_scale
//       (without it), scale_key (the key that says so, null for a root), softcap, sink,
//       query_scale; what a kind does not have is missing
//     rotation: null for recurrent layers; {refused: {reason, text}}; or rotates (false: NoPE),
//       layout ("half", "interleaved", null), evidence {key, text, values}, head_dim, rotary_dim, base,
//       rule, factor, attention_factor, score_factor, trained_length, frequencies and
//       unscaled_frequencies (radians per token, one per pair), wavelengths (tokens; null where a
//       pair does not rotate), pairs: {complete_trained, complete_wanted, kept, slowed, still}
//     positions: "rope", "none", "several axes" or "recurrent"
//     cache: {rows, numbers_per_row, bytes} of all layers of the kind, one text of `length` tokens
//   refused: {reason, text} if layers cannot be told apart; then `layers` has one entry with the
//     rotation alone, and cache, step and prefill are null
//   cache: null or {length, batch, bytes_per_number, bytes_per_token (mean over the text),
//     first_token_bytes, text_bytes, batch_bytes}
//   weights: null or {source ("given", "computed"), bytes, parameters, multiplied (parameters that
//     a token is multiplied with; null if it has experts and nobody says how many are used), head
//     (parameters among them that make logits; 0 if not known), stored (null or {method, bits}: what
//     quantization_config says, bits null if it does not)}
//   memory: null or, on each GPU, {gpus, capacity, weights_bytes, cache_bytes, needed, fits,
//     shares (whether so many GPUs get equal parts of all heads), possible (the numbers that do),
//     fewest_gpus (the smallest of them on which it fits; null if none does), by_bytes (GPUs whose
//     memory holds everything once), largest_batch (of such texts; null if nothing is kept),
//     longest_text (of such a batch)}
//   step: null or a list of {batch, seconds, tokens_per_second, limit ("memory", "arithmetic"),
//     traffic_bytes, operations}: the least time of one decoding step
//   prefill: null or {seconds, limit, traffic_bytes, operations}: the least time to read the text
//   faulty: whether something is wrong, or a rotation or the layers cannot be read
//   warnings: a list of {key, text, values, page, anchor, fault}; unknown: a list of keys that may
//     matter and are not known here
//   settings: null for some models of the table, or {needed (the wanted length is longer than offered),
//     trained_length, factor, notes: [{key, text, values}], rules: a list of {rule ("linear",
//     "ntk", "yarn", "llama3"), transformers5 and transformers4: {add: entries for config.json,
//     remove: keys that must go}, vllm and llama_cpp: arguments (null: there is no flag), notes,
//     attention_factor, frequencies}, or {rule, refused}}
//
//   weightBits(config)                  // null, or {method, bits} of quantization_config
//   testVectors(input, wanted)          // {format, vectors: one object per kind of layer} or {error}
//   applied(config, {add, remove})      // the configuration with such entries
//
// Every text has its English sentence in the rules under `key` or `reason`, with {name} for values:
// to translate, replace the sentence and call filled(sentence, values).

let RULES = null;

export function useRules(rules) {
  RULES = rules;
}

// ---------------------------------------------------------------------------- small tools

class ConfigError extends Error {
  constructor(reason, values = {}) {
    super(filled(RULES.reasons[reason], values));
    this.reason = reason;
    this.values = values;
  }
}

export function filled(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (all, name) => (Object.hasOwn(values, name) ? String(values[name]) : all));
}

function refused(error) {
  if (!(error instanceof ConfigError)) throw error;
  return { reason: error.reason, text: error.message, values: error.values };
}

function isDictionary(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// The value of a key that the dictionary itself has; null if it has none.
function get(dictionary, key) {
  return Object.hasOwn(dictionary, key) ? (dictionary[key] ?? null) : null;
}

function firstGiven(...values) {
  return values.find((value) => value !== null && value !== undefined) ?? null;
}

function firstNamed(config, keys) {
  return firstGiven(...keys.map((key) => get(config, key)));
}

// Whether Python would take the value for true: empty lists and dictionaries are not.
function isTrue(value) {
  if (Array.isArray(value)) return value.length > 0;
  if (isDictionary(value)) return Object.keys(value).length > 0;
  return Boolean(value);
}

function isSame(one, other) {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((value, index) => isSame(value, other[index]));
  }
  if (isDictionary(one) && isDictionary(other)) {
    const keys = Object.keys(one);
    if (keys.length !== Object.keys(other).length) return false;
    return keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key]));
  }
  return one === other;
}

// A value for a message: short, and text in quotation marks.
function shown(value) {
  const text = typeof value === "string" ? `'${value}'` : (JSON.stringify(value) ?? String(value));
  if (value === Infinity || value === -Infinity) return String(value);
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}

function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

// ---------------------------------------------------------------------------- values and keys

function checkCount(key, value) {
  if (!isNumber(value) || !Number.isInteger(value) || value < 0) {
    throw new ConfigError("not_a_count", { key, value: shown(value) });
  }
  const largest = get(RULES.values.largest, key) ?? RULES.values.largest_count;
  if (value > largest) throw new ConfigError("too_large", { key, value, largest });
}

function checkEntries(key, values) {
  for (const value of values) {
    const right = key === "layer_types" ? typeof value === "string" : isNumber(value) || typeof value === "boolean";
    if (!right) throw new ConfigError("not_a_list", { key, value: shown(value) });
  }
}

function checkDictionary(key, values) {
  if (!isDictionary(values)) throw new ConfigError("not_a_dictionary", { key, value: shown(values) });
  checkValues(values);
  for (const [name, inside] of Object.entries(values)) {
    if (key === "per_layer_config") {
      if (!/^[0-9]+$/.test(name)) throw new ConfigError("not_a_count", { key, value: shown(name) });
      if (!isDictionary(inside)) throw new ConfigError("not_a_dictionary", { key, value: shown(inside) });
    }
    if (isDictionary(inside)) checkValues(inside);
  }
}

function checkValues(config) {
  const { counts, numbers, texts, lists, dictionaries } = RULES.values;
  for (const [key, value] of Object.entries(config)) {
    if (value === null) continue;
    if (counts.includes(key)) checkCount(key, value);
    else if (numbers.includes(key) && !isNumber(value)) throw new ConfigError("not_a_number", { key, value: shown(value) });
    else if (texts.includes(key) && typeof value !== "string") throw new ConfigError("not_a_text", { key, value: shown(value) });
    else if (lists.includes(key) && !Array.isArray(value)) throw new ConfigError("not_a_list", { key, value: shown(value) });
    else if (lists.includes(key)) checkEntries(key, value);
    else if (dictionaries.includes(key)) checkDictionary(key, value);
  }
}

// The type of the text model, by the name that the tables have.
function modelType(config) {
  const name = get(config, "model_type");
  for (const known of [name, `${name}_text`]) {
    if (RULES.models.known_models.includes(known) || Object.hasOwn(RULES.models.unsupported_models, String(known))) return known;
  }
  return name;
}

const isOneOf = (table, model) => RULES.models[table].includes(model);
const attends = (table, model) => RULES.attention[table].includes(model);

// The length of the texts in training: as said, as known of the family, or as offered.
function lengthOfTraining(config) {
  const key = "original_max_position_embeddings";
  const longest = get(config, "max_position_embeddings");
  const known = get(RULES.models.trained_lengths, String(modelType(config))) ?? {};
  const held = parameterDictionaries(config).map((one) => get(one, key));
  return firstGiven(get(config, key), ...held, isNumber(longest) ? get(known, String(longest)) : null, longest);
}

function mayRotate(key) {
  return !RULES.keys.other_keys.includes(key) && RULES.keys.words.some((word) => key.includes(word));
}

function textPart(config) {
  const text = get(config, "text_config");
  if (!isDictionary(text)) return config;
  for (const [key, value] of Object.entries(config)) {
    if (mayRotate(key) && value !== null && !isSame(value, get(text, key))) {
      throw new ConfigError("beside_text_config", { key: shown(key), inside: shown(get(text, key)) });
    }
  }
  return text;
}

function unknownRotaryKeys(config) {
  const unknown = Object.entries(config).filter(
    ([key, value]) => mayRotate(key) && !RULES.keys.read_keys.includes(key) && value !== null,
  );
  return unknown.map(([key]) => key).sort();
}

function checkKeys(config, where) {
  const unknown = unknownRotaryKeys(config);
  if (unknown.length) throw new ConfigError("unknown_keys", { where, keys: unknown.join(", ") });
}

function checkModel(config) {
  const model = modelType(config);
  const why = get(RULES.models.unsupported_models, String(model));
  if (why !== null) throw new ConfigError("unsupported_model", { model: shown(model), why });
  let encoding = get(config, "position_embedding_type");
  if (encoding === null && model === "granitemoehybrid") encoding = "none";
  if (![null, "rope", "rotary"].includes(encoding)) throw new ConfigError("position_embedding", { value: shown(encoding) });
  // Each key with the value that it has in a model that rotates.
  for (const [key, rotates] of [["alibi", false], ["mla_use_nope", false], ["use_mem_rope", true]]) {
    const value = get(config, key);
    if (value !== null && isTrue(value) !== rotates) throw new ConfigError("does_not_rotate", { key: shown(key), value: shown(value) });
  }
  if (isTrue(get(config, "rotary_value"))) throw new ConfigError("rotates_values");
  let unread = [];
  if (isOneOf("neox_models", model)) unread = ["partial_rotary_factor", "rope_theta"];
  else if (isOneOf("known_models", model)) unread = ["rotary_emb_base", "rotary_pct"];
  for (const key of unread) {
    if (get(config, key) !== null) throw new ConfigError("unread_key", { model, key });
  }
  const scaled = get(config, "rope_scaling_layers");
  if (scaled !== null) {
    const layers = new Set(scaled);
    const count = Math.max(get(config, "num_hidden_layers") ?? 0, 0);
    const all = layers.size === count && Array.from({ length: count }, (_, index) => index).every((index) => layers.has(index));
    if (!all) throw new ConfigError("some_layers_scaled");
  }
}

// ---------------------------------------------------------------------------- one layer's rotation

function flatParameters(config) {
  const orEmpty = (value) => (isTrue(value) ? value : {});
  const now = orEmpty(get(config, "rope_parameters"));
  const before = orEmpty(get(config, "rope_scaling"));
  if (isTrue(now) && isTrue(before) && !isSame(now, before)) throw new ConfigError("two_dictionaries");
  const model = modelType(config);
  if (isOneOf("new_name_models", model) && isTrue(before) && !isTrue(now)) throw new ConfigError("new_name_only", { model });
  if (isOneOf("own_parameters_models", model) && !isTrue(now) && !isTrue(before)) {
    throw new ConfigError("own_parameters", { model: shown(model) });
  }
  return isTrue(now) ? now : before;
}

function twoBases(config, parameters) {
  const { full, sliding } = RULES.attention;
  const gemma = get(config, "rope_local_base_freq");
  if (gemma !== null) return { [full]: parameters, [sliding]: { rope_theta: gemma } };
  const bert = get(config, "local_rope_theta");
  if (bert !== null) {
    return { [full]: { rope_theta: get(config, "global_rope_theta"), ...parameters }, [sliding]: { rope_theta: bert } };
  }
  const compressed = get(config, "compress_rope_theta");
  if (compressed !== null) {
    const inside = { ...parameters, rope_theta: compressed };
    const kind = firstGiven(get(parameters, "rope_type"), get(parameters, "type"));
    if (kind === "yarn" && !Object.hasOwn(inside, "attention_factor")) inside.attention_factor = 1.0;
    return { main: { rope_theta: get(config, "rope_theta") }, compress: inside };
  }
  return {};
}

// The rope parameters of a kind of layer, null if it does not rotate; whether kinds differ.
function layerParameters(config, layerType, layer) {
  const flat = flatParameters(config);
  let nested = Object.fromEntries(Object.entries(flat).filter(([, value]) => isDictionary(value)));
  let outside = Object.fromEntries(Object.entries(flat).filter(([, value]) => !isDictionary(value)));
  if (!isTrue(nested)) {
    nested = twoBases(config, flat);
    if (!isTrue(nested)) return { parameters: flat, nested: false };
    outside = {};
  }
  const silent = Object.keys(outside).filter((key) => outside[key] === null);
  const types = get(config, "layer_types");
  let kind = layerType;
  if (kind === null && layer !== null && isTrue(types)) kind = types[layer] ?? null;
  if (silent.includes(kind)) return { parameters: null, nested: true };
  if (kind === null || !Object.hasOwn(nested, kind)) {
    const kinds = [...new Set([...Object.keys(nested), ...silent])].sort().join(", ");
    throw new ConfigError("layer_type_needed", { kinds, value: shown(kind) });
  }
  // transformers reads `truncate` beside the kinds of layers, the other keys inside.
  const beside = Object.keys(outside).filter((key) => !silent.includes(key) && !["rope_type", "truncate"].includes(key));
  if (beside.length) throw new ConfigError("beside_kinds", { keys: beside.sort().join(", ") });
  const parameters = { ...nested[kind] };
  if (get(parameters, "truncate") !== null) throw new ConfigError("truncate_inside", { kind });
  if (Object.hasOwn(outside, "truncate")) parameters.truncate = outside.truncate;
  return { parameters, nested: true };
}

function chosenLayers(config, layerType, layer) {
  if (layer !== null) return [layer];
  const types = get(config, "layer_types");
  if (layerType !== null && types !== null && types.includes(layerType)) {
    return types.map((_, index) => index).filter((index) => types[index] === layerType);
  }
  return Array.from({ length: get(config, "num_hidden_layers") ?? 0 }, (_, index) => index);
}

// The one value that a list with an entry per layer has for these layers.
function ofLayers(key, values, layers) {
  if (layers.some((index) => index < 0 || index >= values.length)) {
    throw new ConfigError("list_too_short", { key: shown(key), entries: values.length, layer: layers.at(-1) });
  }
  const chosen = layers.length ? layers.map((index) => values[index]) : values;
  if (chosen.some((value) => !isSame(value, chosen[0]))) throw new ConfigError("layers_differ", { key: shown(key) });
  return chosen[0];
}

function rotates(config, layerType, layer) {
  const { full, sliding } = RULES.attention;
  const model = modelType(config);
  const windowed =
    isOneOf("window_only_models", model) || (isOneOf("window_first_models", model) && isTrue(get(config, "sliding_window")));
  if (windowed) {
    const types = get(config, "layer_types");
    let kind = layerType;
    if (kind === null && layer !== null && isTrue(types)) kind = types[layer] ?? null;
    if (![full, sliding].includes(kind)) {
      throw new ConfigError("window_or_full_needed", { model: shown(model), sliding, full, value: shown(kind) });
    }
    return kind === sliding;
  }
  let key = "no_rope_layers";
  let switches = get(config, key); // in spite of its name, 1 where a layer rotates
  const interval = get(config, "no_rope_layer_interval");
  if (!isTrue(switches) && isTrue(interval)) {
    key = "no_rope_layer_interval";
    const count = get(config, "num_hidden_layers") ?? 0;
    switches = Array.from({ length: count }, (_, index) => (index + 1) % interval !== 0);
  }
  if (!isTrue(switches)) return true;
  return ofLayers(key, switches.map(isTrue), chosenLayers(config, layerType, layer));
}

function baseOf(config, parameters, layerType, layer) {
  const model = modelType(config);
  let base = firstGiven(get(parameters, "rope_theta"), get(config, "rope_theta"), get(config, "rotary_emb_base"));
  const fixed = get(RULES.models.fixed_bases, String(model));
  if (fixed !== null && base !== null && base !== fixed) throw new ConfigError("fixed_base", { model: shown(model), fixed, base });
  base = firstGiven(base, fixed);
  const byLayer = get(config, "layer_rope_theta");
  if (byLayer !== null) {
    const own = ofLayers("layer_rope_theta", byLayer, chosenLayers(config, layerType, layer));
    if (isTrue(own) && own !== base && !isOneOf("layer_base_models", model)) {
      throw new ConfigError("base_by_layer", { own, base, model: shown(model) });
    }
    base = isTrue(own) ? own : 0;
  }
  if (base === null) throw new ConfigError("no_base");
  return base;
}

// What per_layer_config says of one layer; "05" is layer 5.
function changesOfLayer(config, index) {
  const entries = Object.entries(get(config, "per_layer_config") ?? {});
  return Object.assign({}, ...entries.filter(([name]) => Number(name) === index).map(([, changes]) => changes));
}

// The configuration with what per_layer_config says of the head dim of these layers.
function withOverrides(config, layerType, layer) {
  const perLayer = get(config, "per_layer_config");
  if (!isTrue(perLayer)) return config;
  for (const own of Object.values(perLayer)) checkKeys(own, "per_layer_config");
  const overrides = {};
  const layers = chosenLayers(config, layerType, layer);
  const count = Math.max(0, ...layers) + 1;
  for (const key of ["head_dim", "qk_rope_head_dim"]) {
    const values = Array.from({ length: count }, (_, index) => get(changesOfLayer(config, index), key));
    const value = ofLayers(`per_layer_config: ${key}`, values, layers);
    if (value !== null && value !== undefined) overrides[key] = value;
  }
  return { ...config, ...overrides };
}

function headDim(config, layerType) {
  const key = get(RULES.models.head_dim_keys, String(modelType(config))) ?? "head_dim";
  let given = get(config, key);
  if (layerType === RULES.attention.full && get(config, "global_head_dim") !== null) given = get(config, "global_head_dim");
  if (isTrue(given)) return given;
  if (get(config, "qk_rope_head_dim") !== null) return get(config, "qk_rope_head_dim");
  const width = firstNamed(config, RULES.attention.width_keys);
  const heads = firstNamed(config, RULES.attention.head_keys);
  if (width === null || !heads) throw new ConfigError("no_head_dim");
  return Math.floor(width / heads);
}

function isProportional(parameters) {
  return firstGiven(get(parameters, "rope_type"), get(parameters, "type")) === "proportional";
}

function shareOf(config, parameters, nested) {
  const key = "partial_rotary_factor";
  const share = firstGiven(get(parameters, key), get(config, key), get(config, "rotary_pct"));
  const model = modelType(config);
  if (share === null) {
    if (isOneOf("unstated_partial_models", model) && !nested) throw new ConfigError("unstated_part", { model: shown(model), key: shown(key) });
    return null;
  }
  if (!(share > 0 && share <= 1)) throw new ConfigError("share_out_of_range", { key, value: share });
  const reads = !isOneOf("known_models", model) || isOneOf("partial_models", model);
  const whole = share === 1 || isTrue(get(config, "qk_rope_head_dim")) || isTrue(get(config, "rotary_dim"));
  if (!reads && !whole && !isProportional(parameters)) throw new ConfigError("share_not_read", { key, value: share, model });
  return share;
}

function rotaryDim(config, head, share) {
  const model = modelType(config);
  const byShare = share === null ? null : Math.trunc(head * share);
  for (const key of ["qk_rope_head_dim", "rotary_dim"]) {
    const named = get(config, key);
    if (named === null) continue;
    if (byShare !== null && share !== 1 && byShare !== named) {
      throw new ConfigError("two_rotary_dims", { key, named, share, by_share: byShare, head_dim: head });
    }
    const ignored = isOneOf("known_models", model) && !isOneOf("rotary_dim_models", model) && share === null;
    if (key === "rotary_dim" && ignored) throw new ConfigError("rotary_dim_not_read", { model });
    return named;
  }
  const dim = byShare === null ? head : byShare;
  if (dim % 2) throw new ConfigError("odd_share", { share: shown(share), head_dim: head, rotary_dim: dim });
  return dim;
}

function layerRotation(whole, layerType, layer) {
  let config = textPart(whole);
  checkValues(config);
  checkKeys(config, "the configuration");
  checkModel(config);
  const { parameters, nested } = layerParameters(config, layerType, layer);
  config = withOverrides(config, layerType, layer);
  const base = baseOf(config, parameters ?? {}, layerType, layer);
  const turning = parameters !== null && rotates(config, layerType, layer);
  let head = headDim(config, layerType);
  if (!turning || base === 0 || get(config, "qk_rope_head_dim") === 0) {
    return { config, parameters: {}, nested, base, head, rotary: 0, share: 0 };
  }
  const share = shareOf(config, parameters, nested);
  const rotary = isProportional(parameters) ? head : rotaryDim(config, head, share);
  if (isTrue(get(config, "qk_rope_head_dim"))) head = rotary;
  return { config, parameters, nested, base, head, rotary, share: share ?? 1 };
}

// ---------------------------------------------------------------------------- rules for long texts

function ruleOf(parameters) {
  const named = [get(parameters, "rope_type"), get(parameters, "type")].find(isTrue) ?? "default";
  const kind = get(RULES.keys.rule_names, String(named)) ?? String(named);
  if (!Object.hasOwn(RULES.keys.rule_keys, kind)) {
    throw new ConfigError("unknown_rule", { kinds: Object.keys(RULES.keys.rule_keys).join(", "), value: shown(kind) });
  }
  for (const [key, what] of Object.entries(RULES.keys.not_a_rotation)) {
    if (get(parameters, key) !== null) throw new ConfigError("not_a_rotation", { key: shown(key), what });
  }
  const known = [...RULES.keys.rule_keys[kind], ...RULES.keys.common_keys];
  const unknown = Object.keys(parameters).filter((key) => !known.includes(key)).sort();
  if (unknown.length) throw new ConfigError("unknown_parameters", { kind: shown(kind), keys: shown(unknown) });
  return kind;
}

function need(config, key, kind) {
  const value = get(config, key);
  if (value === null) throw new ConfigError("missing_parameter", { kind: shown(kind), key: shown(key) });
  return value;
}

function positive(key, value) {
  if (!(value > 0 && value < Infinity)) throw new ConfigError("not_positive", { key, value: shown(value) });
  return value;
}

function checkLength(kind, trained, least) {
  if (trained < least) throw new ConfigError("length_too_short", { kind: shown(kind), least, value: trained });
}

function checkLimits(kind, slow, fast) {
  if (!(slow > 0 && slow <= fast)) throw new ConfigError("limits_in_wrong_order", { kind: shown(kind), slow, fast });
}

function checkPairs(kind, pairs) {
  if (pairs < 2) throw new ConfigError("two_pairs_needed", { kind: shown(kind), value: pairs });
}

// θ_i = b^(−2i/d)
export function rotaryFrequencies(dim, base) {
  return Array.from({ length: dim / 2 }, (_, pair) => base ** (-(2 * pair) / dim));
}

function blend(frequency, scale, keep) {
  return keep * frequency + (1 - keep) * (frequency / scale);
}

const clamped = (value) => Math.min(Math.max(value, 0), 1);

// θ_i' = θ_i s^(−i/(d/2 − 1))
export function ntkAware(frequencies, scale) {
  const last = frequencies.length - 1;
  return frequencies.map((frequency, pair) => frequency * scale ** -(pair / last));
}

export function dynamicNtk(frequencies, scale, length, trained) {
  const grown = 1 + (scale * Math.max(length - trained, 0)) / trained;
  return ntkAware(frequencies, grown);
}

export function llama3(frequencies, scale, trained, slow, fast) {
  return frequencies.map((frequency) => {
    const turns = (trained * frequency) / (2 * Math.PI);
    let keep = clamped((turns - slow) / (fast - slow));
    if (slow === fast) keep = turns >= slow ? 1 : 0;
    return blend(frequency, scale, keep);
  });
}

export function yarn(frequencies, scale, trained, slow, fast, truncate) {
  const pairs = frequencies.length;
  const step = (Math.log(frequencies[0]) - Math.log(frequencies[pairs - 1])) / (pairs - 1);
  const firstTurns = (trained * frequencies[0]) / (2 * Math.PI);
  let start = Math.log(firstTurns / fast) / step;
  let stop = Math.log(firstTurns / slow) / step;
  if (truncate) {
    start = Math.floor(start);
    stop = Math.ceil(stop);
  }
  if (stop < 0) return frequencies.map((frequency) => frequency / scale);
  start = Math.min(Math.max(start, 0), pairs);
  stop = Math.min(stop, 2 * pairs - 1);
  if (start === stop) stop += 0.001;
  return frequencies.map((frequency, pair) => blend(frequency, scale, 1 - clamped((pair - start) / (stop - start))));
}

// 0.1 w ln s + 1
export function yarnAttentionFactor(scale, weight = 1) {
  return scale <= 1 ? 1 : 0.1 * weight * Math.log(scale) + 1;
}

export function longropeAttentionFactor(scale, trained) {
  return scale <= 1 ? 1 : Math.sqrt(1 + Math.log(scale) / Math.log(trained));
}

function trainedLength(found, kind) {
  const key = "original_max_position_embeddings";
  const outside = found.nested ? null : get(found.config, key); // as transformers reads it
  const trained = firstGiven(outside, get(found.parameters, key));
  return isTrue(trained) ? trained : need(found.config, "max_position_embeddings", kind);
}

// Frequencies and factors after the rule; `trained` and `scale` are what the rule was told.
function scaledBy(kind, frequencies, found, length) {
  const { config, parameters } = found;
  const whole = { attention_factor: 1, score_factor: 1, scale: 1, trained: null };
  if (kind === "default") return { ...whole, frequencies };
  if (kind === "proportional" || kind === "linear") {
    const given = kind === "linear" ? need(parameters, "factor", kind) : firstGiven(get(parameters, "factor"), 1);
    const scale = positive("factor", given);
    return { ...whole, scale, frequencies: frequencies.map((frequency) => frequency / scale) };
  }
  if (kind === "dynamic") {
    const trained = need(config, "max_position_embeddings", kind);
    const scale = positive("factor", need(parameters, "factor", kind));
    checkLength(kind, trained, 1);
    checkPairs(kind, found.rotary / 2);
    return { ...whole, scale, trained, frequencies: dynamicNtk(frequencies, scale, length ?? trained, trained) };
  }
  const trained = trainedLength(found, kind);
  checkLength(kind, trained, 2);
  if (kind === "llama3") {
    const scale = positive("factor", need(parameters, "factor", kind));
    const slow = need(parameters, "low_freq_factor", kind);
    const fast = need(parameters, "high_freq_factor", kind);
    checkLimits(kind, slow, fast);
    return { ...whole, scale, trained, frequencies: llama3(frequencies, scale, trained, slow, fast) };
  }
  const given = get(parameters, "factor") ?? need(config, "max_position_embeddings", kind) / trained;
  const scale = positive("factor", given);
  if (kind === "longrope") return { ...whole, scale, trained, ...longrope(frequencies, scale, trained, parameters, length) };
  checkPairs(kind, found.rotary / 2);
  if (found.base <= 1) throw new ConfigError("base_too_small", { kind: shown(kind), value: found.base });
  const scaled = { ...whole, scale, trained, ...yarnWithFactors(frequencies, scale, trained, parameters) };
  const model = modelType(config);
  if (isOneOf("known_models", model) && !isOneOf("score_factor_models", model)) scaled.score_factor = 1;
  return scaled;
}

function longrope(frequencies, scale, trained, parameters, length) {
  const name = length === null || length <= trained ? "short_factor" : "long_factor";
  const factors = need(parameters, name, "longrope");
  if (factors.length !== frequencies.length || !factors.every((factor) => factor > 0)) {
    throw new ConfigError("wrong_factors", { key: name, pairs: frequencies.length });
  }
  const attention_factor = get(parameters, "attention_factor") ?? longropeAttentionFactor(scale, trained);
  return { frequencies: frequencies.map((frequency, pair) => frequency / factors[pair]), attention_factor };
}

function yarnWithFactors(frequencies, scale, trained, parameters) {
  const slow = get(parameters, "beta_slow") || RULES.extension.slow_turns;
  const fast = get(parameters, "beta_fast") || RULES.extension.fast_turns;
  checkLimits("yarn", slow, fast);
  const truncate = Object.hasOwn(parameters, "truncate") ? isTrue(parameters.truncate) : true;
  const slowed = yarn(frequencies, scale, trained, slow, fast, truncate);
  const weight = get(parameters, "mscale");
  const weightEverywhere = get(parameters, "mscale_all_dim");
  let everywhere = 1;
  if (weightEverywhere) everywhere = positive("mscale_all_dim's factor", yarnAttentionFactor(scale, weightEverywhere));
  let factor = yarnAttentionFactor(scale);
  if (weight && weightEverywhere) factor = yarnAttentionFactor(scale, weight) / everywhere;
  factor = get(parameters, "attention_factor") ?? factor;
  return { frequencies: slowed, attention_factor: factor, score_factor: everywhere ** 2 };
}

// The layout that transformers' code for this type of model has, and how it is known.
function layoutOf(config) {
  const model = modelType(config);
  const change = get(config, "rope_interleave");
  if (isOneOf("switched_models", model)) {
    if (change === null) return { layout: "interleaved", evidence: "switch_default" };
    return { layout: change === false ? "half" : "interleaved", evidence: "switch", said: shown(change) };
  }
  if (change !== null) return { layout: null, evidence: "unread_switch" };
  if (isOneOf("interleaved_models", model)) return { layout: "interleaved", evidence: "code" };
  if (isOneOf("half_models", model)) return { layout: "half", evidence: "code" };
  return { layout: null, evidence: "unknown" };
}

// What the library's rotary_settings returns. layerType, layer, length: null if not given.
export function rotarySettings(config, { layerType = null, layer = null, length = null } = {}) {
  const found = layerRotation(config, layerType, layer);
  const settings = { head_dim: found.head, rotary_dim: found.rotary, base: found.base, ...layoutOf(found.config) };
  if (found.rotary === 0) {
    const nothing = { frequencies: [], unscaled_frequencies: [], attention_factor: 1, score_factor: 1, scale: 1, trained: null };
    return { ...settings, ...nothing, kind: "none" };
  }
  const kind = ruleOf(found.parameters);
  if (found.rotary % 2) throw new ConfigError("not_even", { value: found.rotary });
  positive("rope_theta", found.base);
  const unscaled = rotaryFrequencies(found.rotary, found.base);
  if (kind === "proportional") unscaled.fill(0, Math.floor((found.share * found.rotary) / 2));
  const scaled = scaledBy(kind, unscaled, found, length);
  positive("attention_factor", scaled.attention_factor);
  return { ...settings, kind, unscaled_frequencies: unscaled, ...scaled };
}

// The rotation of a layer of this kind, as layer_types names it.
export function layerSettings(config, { layerKind = null, layer = null, length = null } = {}) {
  const kinds = get(RULES.attention.rope_kinds, String(modelType(textPart(config)))) ?? {};
  const layerType = layerKind === null ? null : (get(kinds, layerKind) ?? layerKind);
  return rotarySettings(config, { layerType, layer, length });
}

// ---------------------------------------------------------------------------- attention of the layers

function windowInForce(config) {
  const window = firstNamed(config, RULES.attention.window_keys);
  const change = get(config, "use_sliding_window");
  const model = modelType(config);
  const unread = isOneOf("known_models", model) || change !== false; // others do not read it
  const off = attends("switched_window_models", model) ? !isTrue(change) : !unread;
  return isTrue(window) && !off ? window : null;
}

function kindsOfPattern(config, pattern, count, window) {
  const { full, sliding, window_keys } = RULES.attention;
  if (pattern.others === sliding && window === null) {
    if (window_keys.some((key) => Object.hasOwn(config, key))) return Array(count).fill(full); // there, and off
    throw new ConfigError("no_window", { kind: sliding, key: window_keys[0] });
  }
  const period = firstGiven(...pattern.keys.map((key) => get(config, key)), pattern.period);
  if (!Number.isInteger(period) || period < 1) throw new ConfigError("unknown_pattern");
  const place = pattern.place === "first" ? 0 : period - 1;
  return Array.from({ length: count }, (_, layer) => {
    const chosen = layer % period === place || (pattern.end && layer === count - 1);
    return chosen ? pattern.chosen : pattern.others;
  });
}

function kindsOfRatios(ratios, count) {
  if (ratios.length < count) throw new ConfigError("layer_count", { key: "'compress_ratios'", entries: ratios.length, layers: count });
  return ratios.slice(0, count).map((ratio) => {
    const kind = get(RULES.attention.compressed_kinds, String(Math.trunc(ratio)));
    if (kind === null) throw new ConfigError("no_rate", { kind: ratio });
    return kind;
  });
}

function rotatingLayers(config, count) {
  const switches = get(config, "no_rope_layers");
  if (isTrue(switches)) {
    if (switches.length !== count) throw new ConfigError("layer_count", { key: "'no_rope_layers'", entries: switches.length, layers: count });
    return switches.map(isTrue);
  }
  const interval = get(config, "no_rope_layer_interval") || 4;
  return Array.from({ length: count }, (_, layer) => (layer + 1) % interval !== 0);
}

export function layerKinds(config) {
  const { full, sliding, chunked, patterns } = RULES.attention;
  const count = firstNamed(config, RULES.attention.layer_keys);
  if (!isTrue(count)) throw new ConfigError("no_layers");
  checkCount("num_hidden_layers", count);
  const given = get(config, "layer_types");
  if (isTrue(given)) {
    if (given.length !== count) throw new ConfigError("layer_count", { key: "'layer_types'", entries: given.length, layers: count });
    return given;
  }
  const ratios = get(config, "compress_ratios");
  if (isTrue(ratios)) return kindsOfRatios(ratios, count);
  const model = modelType(config);
  if (attends("mixed_models", model)) throw new ConfigError("kinds_needed", { model: shown(model) });
  if (attends("chunk_models", model)) {
    if (!Object.hasOwn(config, "attention_chunk_size")) throw new ConfigError("no_window", { kind: chunked, key: "attention_chunk_size" });
    if (!isTrue(get(config, "attention_chunk_size"))) return Array(count).fill(full);
    return rotatingLayers(config, count).map((turns) => (turns ? chunked : full));
  }
  const window = windowInForce(config);
  if (typeof model === "string" && Object.hasOwn(patterns, model)) return kindsOfPattern(config, patterns[model], count, window);
  const { window_keys } = RULES.attention;
  if (attends("default_window_models", model) && !Object.hasOwn(config, window_keys[0])) {
    throw new ConfigError("no_window", { kind: sliding, key: window_keys[0] });
  }
  if (window === null) return Array(count).fill(full);
  if (attends("all_window_models", model)) return Array(count).fill(sliding);
  if (attends("later_window_models", model)) {
    const first = get(config, "max_window_layers");
    if (first === null) throw new ConfigError("no_window", { kind: sliding, key: "max_window_layers" });
    return Array.from({ length: count }, (_, layer) => (layer >= first ? sliding : full));
  }
  throw new ConfigError("unknown_pattern");
}

// The configuration as this layer has it: with its own numbers, where kinds differ.
function ownValues(config, kind, index) {
  const own = { ...config };
  if (RULES.attention.roles[kind] === "window") {
    for (const key of ["num_attention_heads", "num_key_value_heads", "head_dim", "v_head_dim"]) {
      if (get(config, `swa_${key}`) !== null) own[key] = config[`swa_${key}`];
    }
  }
  if (kind === RULES.attention.full) {
    if (isTrue(get(config, "global_head_dim"))) own.head_dim = config.global_head_dim;
    const equal = Object.hasOwn(config, "attention_k_eq_v") ? isTrue(config.attention_k_eq_v) : true;
    if (isTrue(get(config, "num_global_key_value_heads")) && equal) own.num_key_value_heads = config.num_global_key_value_heads;
  }
  Object.assign(own, changesOfLayer(config, index));
  checkValues(own);
  return own;
}

function headsOf(own, kind) {
  const heads = firstNamed(own, RULES.attention.head_keys);
  if (!isTrue(heads)) throw new ConfigError("no_heads");
  const model = modelType(own);
  const rotary = get(own, "qk_rope_head_dim");
  if (isTrue(get(own, "kv_lora_rank")) && rotary !== null) {
    return { heads, latent: own.kv_lora_rank, rotary, key_dim: (get(own, "qk_nope_head_dim") ?? 0) + rotary };
  }
  let head_dim = get(own, get(RULES.models.head_dim_keys, String(model)) ?? "head_dim");
  if (!isTrue(head_dim)) {
    const width = firstNamed(own, RULES.attention.width_keys);
    if (width === null) throw new ConfigError("no_head_dim");
    head_dim = Math.floor(width / heads);
  }
  let kv_heads = firstGiven(firstNamed(own, RULES.attention.key_value_keys), heads);
  if (model === "falcon" && !isTrue(get(own, "new_decoder_architecture"))) {
    const multiQuery = Object.hasOwn(own, "multi_query") ? isTrue(own.multi_query) : true;
    kv_heads = multiQuery ? 1 : heads;
  }
  if (attends("doubled_window_heads_models", model) && RULES.attention.roles[kind] === "window") {
    kv_heads = firstGiven(get(own, "swa_num_key_value_heads"), 2 * kv_heads);
  }
  const found = { heads, kv_heads, head_dim, key_dim: head_dim };
  const value_dim = get(own, "v_head_dim");
  if (isTrue(value_dim) && value_dim !== head_dim) found.value_dim = value_dim;
  if (attends("same_key_value_models", model)) found.same_key_value = true;
  return found;
}

function seenBy(own, kind, role) {
  const found = {};
  if (role === "chunk") {
    if (!isTrue(get(own, "attention_chunk_size"))) throw new ConfigError("no_window", { kind, key: "attention_chunk_size" });
    found.window = own.attention_chunk_size;
    found.chunk = true;
  }
  if (role === "window" || role === "compressed") {
    const window = firstNamed(own, RULES.attention.window_keys);
    if (!isTrue(window)) throw new ConfigError("no_window", { kind, key: RULES.attention.window_keys[0] });
    found.window = window;
  }
  if (role === "compressed") {
    const rates = isTrue(get(own, "compress_rates")) ? own.compress_rates : RULES.attention.compress_rates;
    const rate = get(rates, kind);
    if (!isTrue(rate)) throw new ConfigError("no_rate", { kind });
    found.compress = Math.trunc(rate);
  }
  const chooses = role === "full" || kind === "compressed_sparse_attention";
  if (chooses && isTrue(get(own, "index_topk"))) {
    found.index = { keys: own.index_topk, heads: get(own, "index_n_heads"), head_dim: get(own, "index_head_dim") };
  }
  return found;
}

function scoringOf(own, role, keyDim) {
  const model = modelType(own);
  if (!keyDim) throw new ConfigError("no_head_dim");
  let scale = keyDim ** -0.5;
  if (attends("unscaled_models", model)) scale = 1;
  if (attends("multiplier_models", model) && get(own, "attention_multiplier") !== null) scale = own.attention_multiplier;
  if (attends("query_scalar_models", model) && isTrue(get(own, "query_pre_attn_scalar"))) scale = own.query_pre_attn_scalar ** -0.5;
  const found = { scale };
  if (attends("softcap_models", model) && isTrue(get(own, "attn_logit_softcapping"))) found.softcap = own.attn_logit_softcapping;
  if (attends("sink_models", model) || (attends("window_sink_models", model) && role === "window")) found.sink = true;
  return found;
}

function queryScaleOf(own, index) {
  const parameters = [get(own, "rope_parameters"), get(own, "rope_scaling")].find(isTrue) ?? {};
  const strength = get(parameters, "llama_4_scaling_beta");
  if (isTrue(strength)) {
    const length = get(parameters, "original_max_position_embeddings");
    if (!isTrue(length)) throw new ConfigError("missing_parameter", { kind: "'yarn'", key: RULES.attention.original });
    return { query_scale: { rule: "steps", strength, length, first: 0 } };
  }
  const count = firstNamed(own, RULES.attention.layer_keys);
  const tuned = attends("chunk_models", modelType(own)) && isTrue(get(own, "attn_temperature_tuning"));
  if (tuned && isTrue(get(own, "floor_scale")) && !rotatingLayers(own, count)[index]) {
    return { query_scale: { rule: "steps", strength: get(own, "attn_scale") || 0.1, length: Math.trunc(own.floor_scale), first: 1 } };
  }
  return {};
}

function layerAttention(config, kind, index) {
  if (!Object.hasOwn(RULES.attention.roles, kind)) throw new ConfigError("unknown_layer", { kind: shown(kind) });
  const role = RULES.attention.roles[kind];
  if (role === "recurrent" || role === "none") return { kind, role, recurrent: true };
  const own = ownValues(config, kind, index);
  const attention = { kind, role, ...headsOf(own, kind) };
  Object.assign(attention, seenBy(own, kind, role));
  Object.assign(attention, scoringOf(own, role, attention.key_dim));
  Object.assign(attention, queryScaleOf(own, index));
  const shared = get(config, "num_kv_shared_layers") ?? 0;
  const count = firstNamed(config, RULES.attention.layer_keys);
  const sources = get(config, "kv_source_layers");
  if (index >= count - shared || (isTrue(sources) && index < sources.length && sources[index] !== index)) attention.shared = true;
  return attention;
}

// Groups of layers with equal attention, as the library's layer_groups returns them.
export function layerGroups(whole) {
  const config = textPart(whole);
  checkValues(config);
  const groups = [];
  layerKinds(config).forEach((kind, index) => {
    const attention = layerAttention(config, kind, index);
    const alike = groups.find((group) => isSame(group.attention, attention));
    if (alike) alike.indices.push(index);
    else groups.push({ attention, indices: [index] });
  });
  return groups.map(({ attention, indices }) => ({ ...attention, count: indices.length, indices }));
}

// ---------------------------------------------------------------------------- bytes and seconds

function cachedRows(group, tokens) {
  const rows = Math.min(tokens, group.window ?? tokens);
  return group.compress === undefined ? rows : rows + Math.floor(tokens / group.compress);
}

// Numbers of such a row on each of the GPUs that share the heads; of a latent, each holds all.
function cachedNumbersPerRow(group, ranks = 1) {
  if (group.latent !== undefined) return group.latent + group.rotary;
  const value = group.same_key_value ? 0 : (group.value_dim ?? group.head_dim);
  return Math.ceil(group.kv_heads / ranks) * (group.head_dim + value);
}

const keepsNothing = (group) => Boolean(group.recurrent || group.shared);

function groupBytes(group, tokens, bytesPerNumber, ranks = 1) {
  if (keepsNothing(group)) return 0;
  return group.count * cachedRows(group, tokens) * cachedNumbersPerRow(group, ranks) * bytesPerNumber;
}

export function cacheBytes(groups, tokens, bytesPerNumber, ranks = 1) {
  return groups.reduce((sum, group) => sum + groupBytes(group, tokens, bytesPerNumber, ranks), 0);
}

function operationsPerScore(group, heads) {
  const own = group.heads ?? heads;
  if (group.latent !== undefined) return 2 * own * (2 * group.latent + group.rotary);
  return 2 * own * (group.head_dim + (group.value_dim ?? group.head_dim));
}

function decodeAttentionOperations(groups, heads, tokens) {
  const attending = groups.filter((group) => !group.recurrent);
  return attending.reduce((sum, group) => sum + group.count * cachedRows(group, tokens) * operationsPerScore(group, heads), 0);
}

function causalAttentionOperations(groups, heads, tokens) {
  let operations = 0;
  for (const group of groups) {
    if (group.recurrent) continue;
    const window = Math.min(tokens, group.window ?? tokens);
    let scores = (window * (window + 1)) / 2 + (tokens - window) * window;
    if (group.compress !== undefined) {
      // The sum of ⌊m / c⌋ for m = 1 … N: whole blocks of c, and the rest.
      const blocks = Math.floor(tokens / group.compress);
      const rest = tokens % group.compress;
      scores += (group.compress * blocks * (blocks - 1)) / 2 + blocks * (rest + 1);
    }
    operations += group.count * scores * operationsPerScore(group, heads);
  }
  return operations;
}

// seconds = max(operations / peak, bytes / bandwidth)
function leastTime(gpu, operations, traffic_bytes) {
  const arithmetic = operations / gpu.peak;
  const memory = traffic_bytes / gpu.bandwidth;
  return { seconds: Math.max(arithmetic, memory), limit: arithmetic > memory ? "arithmetic" : "memory", traffic_bytes, operations };
}

// The work of one GPU of `ranks` that share weights and heads equally; what they send is not counted.
export function decodeStep(gpu, { parameters, groups, heads, tokens, batch, weightBytes, cacheBytesPerNumber, ranks = 1 }) {
  const own = cacheBytes(groups, tokens, cacheBytesPerNumber, ranks);
  const traffic = batch * own + (parameters * weightBytes) / ranks;
  const oneToken = 2 * parameters + decodeAttentionOperations(groups, heads, tokens);
  return leastTime(gpu, (batch * oneToken) / ranks, traffic);
}

// `head` of the parameters make logits, which are needed of the last token alone.
export function prefill(gpu, { parameters, head = 0, groups, heads, tokens, weightBytes, cacheBytesPerNumber, ranks = 1 }) {
  const products = 2 * (parameters - head) * tokens + 2 * head;
  const operations = products + causalAttentionOperations(groups, heads, tokens);
  const traffic = (parameters * weightBytes) / ranks + cacheBytes(groups, tokens, cacheBytesPerNumber, ranks);
  return leastTime(gpu, operations / ranks, traffic);
}

// The longest text that `room` bytes hold, at most LONGEST_TEXT.
function longestText(groups, room, bytesPerNumber, ranks, batch) {
  const fits = (tokens) => batch * cacheBytes(groups, tokens, bytesPerNumber, ranks) <= room;
  if (!fits(1)) return 0;
  let low = 1;
  let high = LONGEST_TEXT;
  if (fits(high)) return high;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

const MOST_GPUS = 1024;

// Whether each of `ranks` GPUs gets equally many heads; of fewer key-value heads, equally many copies.
function sharesHeads(groups, heads, ranks) {
  return groups.every((group) => {
    const own = group.heads ?? heads;
    if (group.recurrent || !own) return true;
    if (own % ranks) return false;
    return !group.kv_heads || group.kv_heads % ranks === 0 || ranks % group.kv_heads === 0;
  });
}

// The numbers of GPUs among which the heads are shared equally, also for those without heads.
function possibleNumbers(groups, heads) {
  const numbers = Array.from({ length: MOST_GPUS }, (_, index) => index + 1);
  const known = groups.some((group) => !group.recurrent && (group.heads ?? heads));
  return numbers.filter((count) => (known ? sharesHeads(groups, heads, count) : Number.isInteger(Math.log2(count))));
}

// What each GPU holds: its part of the weights and of the caches of the whole batch.
export function memoryOf(gpu, { groups, heads, weights, tokens, batch, cacheBytesPerNumber, ranks }) {
  const text_bytes = cacheBytes(groups, tokens, cacheBytesPerNumber, ranks);
  const weights_bytes = weights / ranks;
  const needed = weights_bytes + batch * text_bytes;
  const room = gpu.memory - weights_bytes;
  const onEach = (count) => weights / count + batch * cacheBytes(groups, tokens, cacheBytesPerNumber, count);
  const possible = possibleNumbers(groups, heads);
  return {
    gpus: ranks,
    capacity: gpu.memory,
    weights_bytes,
    cache_bytes: batch * text_bytes,
    needed,
    fits: needed <= gpu.memory,
    shares: possible.includes(ranks),
    possible,
    fewest_gpus: possible.find((count) => onEach(count) <= gpu.memory) ?? null,
    by_bytes: Math.max(1, Math.ceil(onEach(1) / gpu.memory)),
    largest_batch: text_bytes > 0 ? Math.max(0, Math.floor(room / text_bytes)) : null,
    longest_text: longestText(groups, room, cacheBytesPerNumber, ranks, batch),
  };
}

// ---------------------------------------------------------------------------- the weights

// A whole number of bits, or null.
function bitsOf(value) {
  return Number.isInteger(value) && value >= 1 && value <= 16 ? value : null;
}

// Bits per weight, with what groups share; null where the keys do not say.
function storedBits(held, method) {
  const { method_bits, bits_keys, group_keys, step_bits } = RULES.stored;
  if (Object.hasOwn(method_bits, method)) return method_bits[method];
  if (method === "modelopt") return get(method_bits, String(get(held, "quant_algo")).toLowerCase());
  for (const [key, bits] of [["load_in_4bit", 4.5], ["load_in_8bit", 8]]) {
    if (get(held, key) === true || get(held, `_${key}`) === true) return bits;
  }
  let given = held;
  const groups = get(held, "config_groups");
  if (isDictionary(groups)) {
    const kinds = Object.values(groups).filter(isDictionary).map((one) => get(one, "weights")).filter(isDictionary);
    if (new Set(kinds.map((one) => JSON.stringify(get(one, "num_bits")))).size !== 1) return null;
    given = { bits: get(kinds[0], "num_bits"), group_size: get(kinds[0], "group_size") };
  }
  const bits = bitsOf(firstNamed(given, bits_keys));
  const group = firstNamed(given, group_keys);
  if (bits === null || !Number.isInteger(group) || group < 1) return bits;
  return bits + (step_bits + bits) / group;
}

// What the library's stored_weights returns.
export function weightBits(config) {
  const held = isDictionary(config) ? get(config, "quantization_config") : null;
  if (!isDictionary(held) || !isTrue(held)) return null;
  const named = [get(held, "quant_method"), get(held, "quant_algo")].find(isTrue);
  const method = typeof named === "string" ? named.toLowerCase() : "?";
  return { method, bits: storedBits(held, method) };
}

// Numbers of one layer's attention and norms, feed-forward layer and experts; null where the
// family was not compared with transformers, or a key is missing.
function computedWeights(config) {
  const model = modelType(config);
  const family = typeof model === "string" ? get(RULES.weights, model) : null;
  if (family === null) return null;
  const keys = ["hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size", "vocab_size"];
  if (keys.some((key) => !isTrue(get(config, key)))) return null;
  const width = config.hidden_size;
  const heads = config.num_attention_heads;
  const layers = config.num_hidden_layers;
  const headDim = get(config, "head_dim") || Math.floor(width / heads);
  const kvHeads = get(config, "num_key_value_heads") ?? heads;
  const bias = family.query_bias || (family.attention_bias && isTrue(get(config, "attention_bias")));
  const projections = 2 * width * headDim * (heads + kvHeads);
  let attention = projections;
  if (bias) attention += headDim * (heads + 2 * kvHeads);
  if (bias && !family.query_bias) attention += width; // the output's
  if (family.qk_norm) attention += 2 * headDim;
  let forward = 3 * width * config.intermediate_size;
  let matrices = projections + forward;
  if (family.mlp_bias && isTrue(get(config, "mlp_bias"))) forward += 2 * config.intermediate_size + width;
  let router = 0;
  let experts = 1;
  let active = 1;
  if (family.experts) {
    experts = firstNamed(config, family.experts.number);
    active = get(config, family.experts.active);
    const hidden = get(config, family.experts.hidden);
    if (!isTrue(experts) || !isTrue(active) || !isTrue(hidden)) return null;
    if (family.experts.plain && (get(config, "mlp_only_layers") ?? []).length) return null;
    if (family.experts.plain && (get(config, "decoder_sparse_step") ?? 1) !== 1) return null;
    forward = 3 * width * hidden;
    router = width * experts;
    matrices = projections + experts * forward;
  }
  const tied = Object.hasOwn(config, "tie_word_embeddings") ? isTrue(config.tie_word_embeddings) : family.tied;
  const embedding = config.vocab_size * width;
  const norms = family.norms * width;
  const outside = embedding * (tied ? 1 : 2) + width;
  const parameters = outside + layers * (attention + norms + router + experts * forward);
  const used = outside + layers * (attention + norms + router + active * forward);
  return { parameters, multiplied: used - (tied ? 0 : embedding), matrices: layers * matrices };
}

function bytesPerWeight(stored) {
  return stored?.bits ? stored.bits / 8 : RULES.bytes_per_number;
}

function hasExperts(config) {
  return RULES.expert_keys.some((key) => isNumber(get(config, key)) && config[key] > 1);
}

// The weights that the reader names, or those of a family whose count is tested; stored: what
// weightBits found.
function weightsOf(config, stored, wanted) {
  const computed = config === null ? null : computedWeights(config);
  const each = wanted.weight_bytes ?? bytesPerWeight(stored);
  const given = wanted.weights_bytes ?? (wanted.parameters === null ? null : wanted.parameters * each);
  const head = (get(config ?? {}, "vocab_size") ?? 0) * (get(config ?? {}, "hidden_size") ?? 0);
  if (given !== null) {
    const parameters = given / each;
    let multiplied = wanted.active_parameters ?? parameters;
    if (wanted.active_parameters === null && hasExperts(config ?? {})) multiplied = null;
    if (wanted.active_parameters === null && computed !== null) multiplied = (parameters * computed.multiplied) / computed.parameters;
    const isPart = multiplied !== null && head < multiplied / 2; // else these are not its weights
    return { source: "given", bytes: given, parameters, multiplied, head: isPart ? head : 0, stored };
  }
  if (computed === null) return null;
  const { parameters, multiplied, matrices } = computed;
  const others = wanted.weight_bytes ?? RULES.bytes_per_number; // embedding, output and norms
  return { source: "computed", bytes: matrices * each + (parameters - matrices) * others, parameters, multiplied, head, stored };
}

// ---------------------------------------------------------------------------- warnings

function warning(key, values = {}) {
  const { text, page, anchor, fault } = RULES.remarks[key];
  return { key, text: filled(text, values), values, page, anchor, fault };
}

function parameterDictionaries(config) {
  const found = [];
  for (const key of ["rope_parameters", "rope_scaling"]) {
    const held = get(config, key);
    if (isDictionary(held)) found.push(held, ...Object.values(held).filter(isDictionary));
  }
  return found;
}

function warningsOfRule(config, parameters) {
  const found = [];
  const now = get(parameters, "rope_type");
  const before = get(parameters, "type");
  if (now !== null && before !== null && now !== before) found.push(warning("two_kinds", { new: shown(now), old: shown(before) }));
  const rule = firstGiven(now, before, "default");
  const factor = get(parameters, "factor");
  const longest = get(config, "max_position_embeddings");
  const trained = firstGiven(get(config, "original_max_position_embeddings"), get(parameters, "original_max_position_embeddings"));
  if (isNumber(factor) && factor < 1) found.push(warning("factor_below_one", { factor }));
  if (["yarn", "llama3"].includes(rule) && isNumber(factor) && factor > 1 && trained === null && isNumber(longest)) {
    found.push(warning("factor_twice", { rule, longest, factor }));
  }
  if (rule === "yarn" && isNumber(factor) && isNumber(trained) && isNumber(longest) && Math.trunc(trained * factor) < longest) {
    found.push(warning("reach_too_short", { longest, rule, trained, factor, reach: Math.trunc(trained * factor) }));
  }
  if (rule === "longrope" || rule === "su") {
    const at = firstGiven(trained, longest);
    if (at !== null) found.push(warning("longrope_switch", { trained: at }));
  }
  if (rule === "dynamic") found.push(warning("dynamic"));
  if (get(parameters, "mrope_section") !== null) found.push(warning("several_axes"));
  const strength = get(parameters, "llama_4_scaling_beta");
  const length = get(parameters, "original_max_position_embeddings");
  if (isTrue(strength) && isTrue(length)) found.push(warning("query_scale", { strength, length }));
  return found;
}

// Those that the library's name_remarks and rule_remarks return.
export function warningsOfKeys(config) {
  const found = [];
  const present = RULES.keys.moved_keys.filter((key) => get(config, key) !== null);
  const isNew = isTrue(get(config, "rope_parameters"));
  if (present.length && !isNew) found.push(warning("old_keys", { keys: present.join(", ") }));
  if (isNew && !present.length) found.push(warning("new_keys"));
  found.push(...warningsOfFlags(config));
  for (const parameters of parameterDictionaries(config)) found.push(...warningsOfRule(config, parameters));
  return found;
}

function warningsOfFlags(config) {
  const found = [];
  const rotary = get(config, "qk_rope_head_dim");
  const share = firstGiven(get(config, "partial_rotary_factor"), ...parameterDictionaries(config).map((held) => get(held, "partial_rotary_factor")));
  if (isTrue(rotary) && share !== null && share !== 1) found.push(warning("latent_share", { rotary, share }));
  if (isTrue(get(config, "no_rope_layers"))) found.push(warning("no_rope_flags"));
  const longest = get(config, "max_position_embeddings");
  const trained = lengthOfTraining(config);
  const key = "original_max_position_embeddings";
  const isSaid = firstGiven(get(config, key), ...parameterDictionaries(config).map((held) => get(held, key))) !== null;
  if (trained !== null && trained !== longest && !isSaid) {
    found.push(warning("room_for_output", { longest, trained, room: longest - trained }));
  }
  const window = get(config, "sliding_window");
  if (isTrue(window) && attends("switched_window_models", modelType(config)) && !isTrue(get(config, "use_sliding_window"))) {
    found.push(warning("window_off", { window }));
  }
  return found;
}

function warningsOfLayers(layers, wanted, context, causal) {
  const found = [];
  const attending = layers.filter((layer) => layer.attention !== null);
  const turning = attending.filter((layer) => layer.rotation?.rotates);
  const still = attending.filter((layer) => layer.rotation?.rotates === false);
  const count = (list) => list.reduce((sum, layer) => sum + (layer.count ?? 0), 0);
  if (turning.length && still.length) found.push(warning("nope_layers", { count: count(still), layers: count(attending) }));
  if (turning.some((layer) => layer.rotation.layout === null)) found.push(warning("layout_unknown"));
  const rotations = new Set(turning.map((layer) => JSON.stringify(layer.rotation.frequencies)));
  if (rotations.size > 1) found.push(warning("two_bases"));
  const factor = turning.find((layer) => layer.rotation.score_factor !== 1)?.rotation.score_factor;
  if (factor !== undefined) found.push(warning("score_factor", { factor: Number(factor.toPrecision(6)) }));
  for (const { attention } of attending) {
    const { window, scale, key_dim, query_scale, latent, rotary, index } = attention;
    if (window !== undefined && !attention.chunk && causal) found.push(warning("window_convention", { window, before: window - 1 }));
    if (query_scale?.rule === "steps") found.push(warning("query_scale", { strength: query_scale.strength, length: query_scale.length }));
    const plain = attention.plain_scale ?? scale;
    const usual = latent === undefined && key_dim ? key_dim ** -0.5 : null;
    if (usual !== null && plain !== undefined && Math.abs(plain / usual - 1) > 1e-9) {
      found.push(warning("other_scale", { scale: Number(plain.toPrecision(6)), key_dim }));
    }
    if (latent !== undefined && key_dim) found.push(warning("latent_scale", { key_dim, absorbed: latent + rotary }));
    if (attention.softcap || attention.sink) found.push(warning("dropped_options"));
    if (index) found.push(warning("indexer_layout"));
  }
  const shared = attending.filter((layer) => layer.attention.shared);
  if (shared.length) found.push(warning("shared_cache", { count: count(shared) }));
  if (attending.length < layers.length || attending.some((layer) => layer.attention.index)) found.push(warning("not_counted"));
  if (context !== null && wanted.length > context) found.push(warning("beyond_context", { length: wanted.length, longest: context }));
  if (turning.length && wanted.length > 256) found.push(warning("angles_rounded", { length: wanted.length }));
  return found;
}

function withoutRepetitions(warnings) {
  const seen = new Set();
  return warnings.filter(({ text }) => !seen.has(text) && seen.add(text));
}

// Keys that may matter for attention and that nothing here reads.
function unknownKeys(config) {
  const { attention_words, attention_read_keys, idle_keys } = RULES.keys;
  const found = [];
  for (const [key, value] of Object.entries(config)) {
    const known = attention_read_keys.includes(key) || RULES.keys.read_keys.includes(key) || idle_keys.includes(key);
    const other = RULES.keys.other_keys.includes(key);
    if (known || other || value === null || value === false) continue;
    if (attention_words.some((word) => key.includes(word))) found.push({ key, value: shown(value), what: get(RULES.keys.described, key) });
  }
  return found;
}

// ---------------------------------------------------------------------------- settings for a length

// The rope parameters of each rule that stretches `trained` positions to `length`.
function stretchedParameters(rule, settings, trained, factor, kept) {
  const rope_theta = settings.base;
  if (rule === "linear") return { rope_type: "linear", rope_theta, factor, ...kept };
  if (rule === "ntk") {
    const dim = settings.rotary_dim;
    return { rope_type: "default", rope_theta: rope_theta * factor ** (dim / (dim - 2)), ...kept };
  }
  const usual = rule === "llama3" ? RULES.settings.llama3 : {};
  return { rope_type: rule, rope_theta, factor, original_max_position_embeddings: trained, ...usual, ...kept };
}

// What the dictionary of today has beside its rule, and every rule leaves alone.
function keptParameters(config, parameters, rule) {
  const keys = [...RULES.settings.kept];
  const today = firstGiven(get(parameters, "rope_type"), get(parameters, "type"), "default");
  if (rule === today) keys.push(...(get(RULES.settings.kept_by_rule, rule) ?? []));
  const kept = keys.filter((key) => get(parameters, key) !== null).map((key) => [key, parameters[key]]);
  const share = firstGiven(get(parameters, "partial_rotary_factor"), get(config, "partial_rotary_factor"), get(config, "rotary_pct"));
  return { ...Object.fromEntries(kept), ...(share === null ? {} : { partial_rotary_factor: share }) };
}

// The entries of a config.json for both versions; `remove` names those that must go.
function fragments(config, parameters, length) {
  const older = ["rope_theta", "rope_scaling", "rotary_emb_base", "rotary_pct", "partial_rotary_factor"];
  const { rope_theta, partial_rotary_factor, ...scaling } = parameters;
  const neox = isOneOf("neox_models", modelType(config));
  const before = { [neox ? "rotary_emb_base" : "rope_theta"]: rope_theta };
  if (partial_rotary_factor !== undefined) before[neox ? "rotary_pct" : "partial_rotary_factor"] = partial_rotary_factor;
  const isPlain = scaling.rope_type === "default" && Object.keys(scaling).length === 1;
  if (!isPlain) before.rope_scaling = scaling;
  const outside = ["original_max_position_embeddings"];
  const here = (keys) => [...keys, ...outside].filter((key) => Object.hasOwn(config, key));
  return {
    transformers5: { add: { rope_parameters: parameters, max_position_embeddings: length }, remove: here(older) },
    transformers4: { add: { ...before, max_position_embeddings: length }, remove: here(["rope_parameters", ...older]).filter((key) => !Object.hasOwn(before, key)) },
  };
}

export function applied(config, { add, remove }) {
  const kept = Object.entries(config).filter(([key]) => !remove.includes(key));
  return { ...Object.fromEntries(kept), ...add };
}

function llamaCppFlags(rule, parameters, trained, factor, length) {
  if (rule === "linear") return `--rope-scaling linear --rope-scale ${factor} -c ${length}`;
  if (rule === "ntk") return `--rope-freq-base ${parameters.rope_theta} -c ${length}`;
  if (rule === "yarn") return `--rope-scaling yarn --rope-scale ${factor} --yarn-orig-ctx ${trained} -c ${length}`;
  return null;
}

const note = (key, values = {}) => ({ key, text: filled(RULES.settings.notes[key], values), values });

// What to write for texts of the wanted length: one entry per rule, each with what it changes.
// `read` has layers and context of the answer.
function settingsFor(config, read, wanted) {
  const { layers, context } = read;
  const turning = layers.filter((layer) => layer.rotation?.rotates);
  if (!turning.length) return { needed: false, notes: [note("nothing_rotates")], rules: [] };
  const first = turning.find((layer) => layer.role === "full") ?? turning[0];
  const { rule: today, trained_length, factor: stretch } = first.rotation;
  const trained = trained_length ?? context;
  if (trained === null || context === null) return { needed: false, notes: [note("no_length")], rules: [] };
  // YaRN reaches as far as it stretches, whatever else the file offers.
  const offered = today === "yarn" ? Math.min(context, Math.trunc(trained * stretch)) : context;
  if (wanted.length <= offered) return { needed: false, trained_length: trained, notes: [note("already_offered", { context: offered })], rules: [] };
  const factor = wanted.length / trained;
  const notes = [];
  const flat = flatParameters(config);
  const kinds = Object.values(flat).some(isDictionary) || isTrue(twoBases(config, flat));
  if (kinds) return { needed: true, trained_length: trained, factor, notes: [note("kinds_differ")], rules: [] };
  if (today !== "default") notes.push(note("has_rule", { rule: today }));
  const rules = RULES.settings.rules.map((rule) => {
    const kept = keptParameters(config, flat, rule);
    const parameters = stretchedParameters(rule, first.rotation, trained, factor, kept);
    const written = fragments(config, parameters, wanted.length);
    const command = JSON.stringify({ rope_parameters: parameters });
    const entry = { rule, ...written, vllm: `--hf-overrides '${command}' --max-model-len ${wanted.length}` };
    entry.llama_cpp = llamaCppFlags(rule, parameters, trained, factor, wanted.length);
    entry.notes = rule === "llama3" ? [note("no_flag")] : [];
    try {
      const changed = withoutOtherScales(applied(config, written.transformers5));
      const layer = first.indices[0] ?? null;
      const settings = layerSettings(changed, { layerKind: first.kind, layer, length: wanted.length });
      return { ...entry, attention_factor: settings.attention_factor, frequencies: settings.frequencies };
    } catch (error) {
      return { rule, refused: refused(error) };
    }
  });
  return { needed: true, trained_length: trained, factor, notes, rules };
}

// ---------------------------------------------------------------------------- test vectors

// x with its first dimensions rotated in pairs.
function rotated(x, cos, sin, layout) {
  const pairs = cos.length;
  const result = [...x];
  for (let pair = 0; pair < pairs; pair += 1) {
    const [a, b] = layout === "half" ? [pair, pair + pairs] : [2 * pair, 2 * pair + 1];
    result[a] = x[a] * cos[pair] - x[b] * sin[pair];
    result[b] = x[a] * sin[pair] + x[b] * cos[pair];
  }
  return result;
}

function vectorsOf(config, layer, name) {
  const { rotation, kind } = layer;
  const { layout, head_dim, rotary_dim, attention_factor, score_factor, frequencies } = rotation;
  const x = Array.from({ length: head_dim }, (_, index) => Math.sin(index + 1));
  // Where the last dimensions rotate, or nobody knows which form a pair, there are only cos and sin.
  const known = layout !== null && !attends("trailing_models", modelType(config));
  const cases = RULES.vectors.positions.map((position) => {
    const cos = frequencies.map((frequency) => attention_factor * Math.cos(position * frequency));
    const sin = frequencies.map((frequency) => attention_factor * Math.sin(position * frequency));
    return known ? { position, cos, sin, x, rotated: rotated(x, cos, sin, layout) } : { position, cos, sin };
  });
  return { family: name, config, layer_type: kind, layout, head_dim, rotary_dim, attention_factor, score_factor, frequencies, cases };
}

// The vectors of each kind of layer that rotates, in the format of rules.vectors.format; or {error}.
// The frequencies are those of a text of wanted.length tokens.
export function testVectors(input, wanted = {}) {
  const result = readModel(input, wanted);
  if (result.error) return result;
  const config = textPart(typeof input === "string" ? parsed(input) : input);
  const turning = result.layers.filter((layer) => layer.rotation?.rotates);
  return { format: RULES.vectors.format, vectors: turning.map((layer) => vectorsOf(config, layer, result.name)) };
}

// ---------------------------------------------------------------------------- the whole answer

const SMALL_BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const LONGEST_TEXT = 2 ** 40;

// Wanted numbers that make sense; one that does not is replaced by its default.
function wantedNumbers(given, context) {
  const wanted = isDictionary(given) ? given : {};
  const number = (key, usual, largest = Number.MAX_SAFE_INTEGER) => {
    const value = get(wanted, key);
    return isNumber(value) && value > 0 && value <= largest ? value : usual;
  };
  const gpu = isDictionary(get(wanted, "gpu")) ? wanted.gpu : {};
  const usual = RULES.gpus[0];
  const rate = (key, other) => (isNumber(get(gpu, key)) && gpu[key] > 0 ? gpu[key] : other);
  const batches = Array.isArray(get(wanted, "batches")) ? wanted.batches.filter((value) => isNumber(value) && value > 0) : [];
  return {
    length: Math.max(1, Math.floor(number("length", isTrue(context) ? context : 4096, LONGEST_TEXT))),
    batch: Math.max(1, Math.floor(number("batch", 1))),
    batches: batches.length ? batches.map((value) => Math.max(1, Math.floor(value))) : SMALL_BATCHES,
    weights_bytes: number("weights_bytes", null, 1e18),
    parameters: number("parameters", null, 1e18),
    active_parameters: number("active_parameters", null, 1e18),
    weight_bytes: number("weight_bytes", null, 64),
    cache_bytes: number("cache_bytes", RULES.bytes_per_number, 64),
    gpus: Math.max(1, Math.floor(number("gpus", 1, 4096))),
    gpu: {
      bandwidth: rate("bandwidth", usual.bandwidth),
      peak: rate("peak", usual.peak.bfloat16),
      memory: rate("memory", usual.memory),
    },
  };
}

// How many pairs complete a rotation, are kept, slowed down or do not rotate.
function pairCounts(settings, trained, length) {
  const { frequencies, unscaled_frequencies } = settings;
  const complete = (tokens) => frequencies.filter((frequency) => tokens * frequency >= 2 * Math.PI).length;
  const ratios = frequencies.map((frequency, pair) => frequency / unscaled_frequencies[pair]);
  return {
    complete_trained: trained === null ? null : complete(trained),
    complete_wanted: complete(length),
    kept: ratios.filter((ratio) => Math.abs(ratio - 1) < 1e-12).length,
    slowed: ratios.filter((ratio) => ratio < 1 - 1e-12).length,
    still: frequencies.filter((frequency) => frequency === 0).length,
  };
}

function evidenceOf(key, values) {
  return { key, text: filled(RULES.evidence[key], values), values };
}

// usual: the trained length where the rule itself does not say it.
function rotationOf(settings, usual, length) {
  const trained = settings.trained ?? usual;
  return {
    rotates: settings.rotary_dim > 0,
    layout: settings.layout,
    evidence: evidenceOf(settings.evidence, settings.said === undefined ? {} : { value: settings.said }),
    head_dim: settings.head_dim,
    rotary_dim: settings.rotary_dim,
    base: settings.base,
    rule: settings.kind,
    factor: settings.scale,
    attention_factor: settings.attention_factor,
    score_factor: settings.score_factor,
    trained_length: trained,
    frequencies: settings.frequencies,
    unscaled_frequencies: settings.unscaled_frequencies,
    wavelengths: settings.frequencies.map((frequency) => (frequency > 0 ? (2 * Math.PI) / frequency : null)),
    pairs: pairCounts(settings, trained, length),
  };
}

// The configuration without what is no rotation and is read elsewhere (the scale of queries).
function withoutOtherScales(config) {
  const changed = { ...config };
  const clean = (held) => {
    if (!isDictionary(held)) return held;
    const kept = Object.entries(held).filter(([key]) => !Object.hasOwn(RULES.keys.not_a_rotation, key));
    return Object.fromEntries(kept.map(([key, value]) => [key, clean(value)]));
  };
  for (const key of ["rope_parameters", "rope_scaling"]) {
    if (Object.hasOwn(config, key)) changed[key] = clean(config[key]);
  }
  return changed;
}

function positionsOf(config, rotation) {
  if (rotation === null) return "recurrent";
  if (rotation.rotates === false) return "none";
  const axes = parameterDictionaries(config).some((held) => get(held, "mrope_section") !== null);
  return axes ? "several axes" : "rope";
}

function layerOf(config, group, wanted, trained) {
  const { kind, role, count, indices, recurrent, ...attention } = group;
  const bytes = groupBytes(group, wanted.length, wanted.cache_bytes);
  if (recurrent) return { kind, role, count, indices, attention: null, rotation: null, positions: "recurrent", cache: { rows: 0, numbers_per_row: 0, bytes } };
  let rotation;
  try {
    const settings = layerSettings(withoutOtherScales(config), { layerKind: kind, layer: indices[0], length: wanted.length });
    rotation = rotationOf(settings, trained, wanted.length);
  } catch (error) {
    rotation = { refused: refused(error) };
  }
  attention.plain_scale = attention.scale;
  attention.scale *= rotation.score_factor ?? 1;
  attention.scale_key = scaleKey(config);
  if (attention.kv_heads) attention.group = attention.heads / attention.kv_heads;
  const cache = { rows: keepsNothing(group) ? 0 : cachedRows(group, wanted.length), numbers_per_row: cachedNumbersPerRow(group), bytes };
  return { kind, role, count, indices, attention, rotation, positions: positionsOf(config, rotation), cache };
}

// The key that says the scale of the softmax; null where it is one over the root of a head.
function scaleKey(config) {
  const model = modelType(config);
  if (attends("multiplier_models", model) && get(config, "attention_multiplier") !== null) return "attention_multiplier";
  if (attends("query_scalar_models", model) && isTrue(get(config, "query_pre_attn_scalar"))) return "query_pre_attn_scalar";
  return null;
}

// Cache, step and prefill of groups of layers.
function costs(groups, heads, weights, wanted, keepsCache) {
  const text = cacheBytes(groups, wanted.length, wanted.cache_bytes);
  const cache = {
    length: wanted.length,
    batch: wanted.batch,
    bytes_per_number: wanted.cache_bytes,
    bytes_per_token: text / wanted.length,
    first_token_bytes: cacheBytes(groups, 1, wanted.cache_bytes),
    text_bytes: text,
    batch_bytes: text * wanted.batch,
  };
  if (!keepsCache) return { cache: null, memory: null, step: null, prefill: null };
  if (weights === null) return { cache, memory: null, step: null, prefill: null };
  const held = {
    groups,
    heads,
    weights: weights.bytes,
    tokens: wanted.length,
    batch: wanted.batch,
    cacheBytesPerNumber: wanted.cache_bytes,
    ranks: wanted.gpus,
  };
  const memory = memoryOf(wanted.gpu, held);
  if (weights.multiplied === null) return { cache, memory, step: null, prefill: null };
  const work = {
    parameters: weights.multiplied,
    head: weights.head,
    groups,
    heads,
    tokens: wanted.length,
    weightBytes: wanted.weight_bytes,
    cacheBytesPerNumber: wanted.cache_bytes,
    ranks: wanted.gpus,
  };
  const step = wanted.batches.map((batch) => {
    const least = decodeStep(wanted.gpu, { ...work, batch });
    return { batch, ...least, tokens_per_second: batch / least.seconds };
  });
  return { cache, memory, step, prefill: prefill(wanted.gpu, work) };
}

function storedRemark({ method, bits }) {
  return bits === null ? warning("stored_unknown", { method: shown(method) }) : warning("stored_bits", { method, bits });
}

// Bytes per weight in the mean, with which a step reads them.
function meanBytes(weights, stored, wanted) {
  if (weights === null) return wanted.weight_bytes ?? bytesPerWeight(stored);
  return weights.bytes / weights.parameters;
}

function otherParts(whole) {
  return Object.keys(whole).filter((key) => key !== "text_config" && isDictionary(whole[key]) && get(whole[key], "num_hidden_layers") !== null);
}

function readConfig(whole, given) {
  const config = textPart(whole);
  checkValues(config);
  const context = get(config, "max_position_embeddings") || null;
  const wanted = wantedNumbers(given, context);
  const heads = firstNamed(config, RULES.attention.head_keys);
  const model = modelType(config);
  const result = {
    name: shownName(config, whole),
    model_type: model,
    heads,
    width: firstNamed(config, RULES.attention.width_keys),
    layer_count: firstNamed(config, RULES.attention.layer_keys),
    context,
    trained_length: lengthOfTraining(config) || null,
    wanted,
    refused: null,
  };
  let groups = null;
  try {
    groups = layerGroups(whole);
    result.layers = groups.map((group) => layerOf(config, group, wanted, result.trained_length));
  } catch (error) {
    result.refused = refused(error);
    result.layers = [rotationAlone(config, wanted, result.trained_length)];
    if (!describesModel(config) && result.layers[0].rotation.refused) return notAModel(whole);
  }
  const stored = weightBits(whole) ?? weightBits(config); // it may stand outside of a text_config
  const remarks = stored === null || wanted.weight_bytes !== null || wanted.weights_bytes !== null ? [] : [storedRemark(stored)];
  result.weights = weightsOf(config, stored, wanted);
  wanted.weight_bytes = meanBytes(result.weights, stored, wanted);
  result.causal = !attends("encoder_models", model);
  const keepsCache = groups !== null && result.causal;
  Object.assign(result, costs(groups ?? [], heads, result.weights, wanted, keepsCache));
  result.warnings = [...warningsOfKeys(config), ...remarks];
  if (groups !== null) result.warnings.push(...warningsOfLayers(result.layers, wanted, context, result.causal));
  if (firstNamed(config, RULES.attention.key_value_keys) === null && groups?.some((group) => group.kv_heads)) {
    result.warnings.push(warning("no_key_value_heads", { heads }));
  }
  if (result.weights?.multiplied === null) result.warnings.push(warning("experts_unknown"));
  const active = result.weights && computedWeights(config);
  if (active && RULES.weights[model].experts) result.warnings.push(warning("experts", { active: active.multiplied, total: active.parameters }));
  const parts = otherParts(whole);
  if (parts.length) result.warnings.push(warning("other_parts", { parts: parts.join(", ") }));
  result.warnings = withoutRepetitions(result.warnings);
  result.unknown = unknownKeys(config);
  const isWrong = result.warnings.some(({ fault }) => fault) || result.layers.some((layer) => layer.rotation?.refused);
  result.faulty = isWrong || result.refused !== null;
  result.settings = isWrong ? { needed: false, notes: [note("mend_first")], rules: [] } : settingsFor(config, result, wanted);
  return result;
}

// Whether there is any key of layers, heads or a rotation.
function describesModel(config) {
  const { layer_keys, head_keys } = RULES.attention;
  return firstNamed(config, [...layer_keys, ...head_keys, "head_dim"]) !== null || Object.keys(config).some(mayRotate);
}

function notAModel(whole) {
  const parts = otherParts(whole);
  return parts.length ? failure("inner_model", { parts: parts.join(", ") }) : failure("not_a_model");
}

function shownName(config, whole) {
  const named = firstGiven(get(whole, "_name_or_path"), get(whole, "name"));
  return typeof named === "string" && named ? named : String(get(config, "model_type") ?? "");
}

// A kind of layer of which nothing but the rotation can be told.
function rotationAlone(config, wanted, trained) {
  let rotation;
  try {
    rotation = rotationOf(rotarySettings(withoutOtherScales(config), { length: wanted.length }), trained, wanted.length);
  } catch (error) {
    rotation = { refused: refused(error) };
  }
  return { kind: null, role: null, count: null, indices: [], attention: null, rotation, positions: positionsOf(config, rotation), cache: null };
}

function failure(key, values = {}) {
  return { error: { reason: key, text: filled(RULES.failures[key], values), values } };
}

// JSON that an editor may have begun with a byte order mark.
function parsed(text) {
  return JSON.parse(text.replace(/^\ufeff/, ""));
}

export function readModel(input, wanted = {}) {
  let config = input;
  if (typeof input === "string") {
    if (!input.trim()) return failure("empty");
    if (input.length > 5_000_000) return failure("too_long");
    try {
      config = parsed(input);
    } catch (error) {
      return failure("not_json", { message: error.message });
    }
  }
  if (!isDictionary(config)) return failure("not_an_object", { value: shown(config) });
  if (!Object.keys(config).length) return failure("empty");
  try {
    return readConfig(config, wanted);
  } catch (error) {
    if (error instanceof ConfigError) return { error: refused(error) };
    return failure("other", { message: error.message });
  }
}

// The rotation of a group of the table, as readConfig has that of a configuration.
function tableRotation(row, group, wanted) {
  if (group.recurrent) return null;
  const trained = row.trained ?? row.context ?? null;
  if (!group.rope) {
    const nothing = { rotary_dim: 0, head_dim: group.head_dim ?? group.rotary, frequencies: [], unscaled_frequencies: [] };
    const usual = { layout: null, evidence: "table", base: 0, kind: "none", scale: 1, attention_factor: 1, score_factor: 1 };
    return rotationOf({ ...nothing, ...usual, trained: null }, trained, wanted.length);
  }
  try {
    const config = { head_dim: group.rotary || group.head_dim, rope_parameters: group.rope };
    const settings = rotarySettings(config, { length: wanted.length });
    const known = { ...settings, layout: row.layout ?? null, evidence: "table", said: undefined };
    const rotation = rotationOf(known, trained, wanted.length);
    return { ...rotation, learned: Boolean(group.learned), source: row.layout_source ?? null };
  } catch (error) {
    return { refused: refused(error) };
  }
}

export function readTableModel(name, given = {}) {
  const row = RULES.table.find((model) => model.name === name);
  if (!row) return failure("not_in_table", { name: shown(name) });
  const context = row.context ?? null;
  const wanted = wantedNumbers(given, context);
  const known = row.layers.every((group) => group.recurrent || group.latent !== undefined || group.kv_heads !== undefined);
  const layers = row.layers.map((group) => {
    const { count, rope, recurrent, ...attention } = group;
    const rotation = tableRotation(row, group, wanted);
    const role = recurrent ? "recurrent" : group.compress ? "compressed" : group.chunk ? "chunk" : group.window ? "window" : "full";
    const head = recurrent ? null : { heads: row.heads, ...attention };
    if (head && head.kv_heads) head.group = row.heads / head.kv_heads;
    if (head && head.head_dim) head.key_dim = head.head_dim;
    if (head && head.key_dim) {
      head.plain_scale = group.scale ?? head.key_dim ** -0.5;
      head.scale = head.plain_scale * (rotation?.score_factor ?? 1);
      head.scale_key = null;
    }
    const rows = recurrent ? 0 : cachedRows(group, wanted.length);
    const numbers = known && !recurrent ? cachedNumbersPerRow(group) : 0;
    const cache = { rows, numbers_per_row: numbers, bytes: known ? groupBytes(group, wanted.length, wanted.cache_bytes) : null };
    const positions = rotation === null ? "recurrent" : group.bias ? "bias" : rotation.rotates === false ? "none" : "rope";
    return { kind: role, role, count, indices: [], attention: head, rotation, positions, cache };
  });
  const weights = weightsOf(tableConfig(row), null, wanted);
  wanted.weight_bytes = meanBytes(weights, null, wanted);
  const keepsCache = known && row.causal !== false;
  const stretched = row.layers.find((group) => group.rope?.original_max_position_embeddings);
  const trained_length = stretched ? stretched.rope.original_max_position_embeddings : (row.trained ?? context);
  const result = { name: row.name, model_type: null, heads: row.heads, width: row.width, context, trained_length, wanted, refused: null };
  result.layer_count = row.layers.reduce((sum, group) => sum + group.count, 0);
  Object.assign(result, { layers, weights }, costs(known ? row.layers : [], row.heads, weights, wanted, keepsCache));
  result.causal = row.causal !== false;
  const room = row.trained === undefined ? [] : [warning("room_for_output", { longest: context, trained: row.trained, room: context - row.trained })];
  result.warnings = withoutRepetitions([...room, ...warningsOfLayers(layers, wanted, context, result.causal)]);
  const others = Object.entries(row.not_represented ?? {}).filter(([key]) => !RULES.keys.other_keys.includes(key));
  result.unknown = others.map(([key, value]) => ({ key, value: shown(value), what: get(RULES.keys.described, key.split(".").at(-1)) }));
  result.faulty = false;
  result.settings = tableSettings(row, result, wanted);
  result.note = row.note ?? null;
  return result;
}

// The settings for a row whose layers rotate by one rule; null where there is nothing to say.
function tableSettings(row, read, wanted) {
  const { context } = read;
  const turning = row.layers.filter((group) => group.rope);
  if (context === null || turning.some((group) => group.learned)) return null;
  const [first] = turning;
  const config = { max_position_embeddings: context };
  if (first) {
    config.head_dim = first.rotary || first.head_dim;
    const alike = turning.every((group) => isSame(group.rope, first.rope));
    config.rope_parameters = alike ? first.rope : Object.fromEntries(turning.map((group, index) => [String(index), group.rope]));
  }
  return settingsFor(config, read, wanted);
}

// What the count of the weights needs of a row of the table that has it; otherwise null.
function tableConfig(row) {
  if (!row.hidden || !row.vocabulary) return null;
  const [group] = row.layers;
  return {
    model_type: "llama",
    hidden_size: row.width,
    num_attention_heads: row.heads,
    num_key_value_heads: group.kv_heads,
    head_dim: group.head_dim,
    num_hidden_layers: group.count,
    intermediate_size: row.hidden,
    vocab_size: row.vocabulary,
    tie_word_embeddings: false,
  };
}
