/**
 * What may import what. The one table of it: dependency-cruiser checks it over the resolved graph (`npm run check`),
 * and test/architecture/boundaries.test.ts checks it over the sources and finds rules that no longer match anything.
 */

/**
 * Feature -> the features below it that it may use. Downwards only. Every feature may also use all of `access`:
 * each verb asks it whether the caller may.
 */
export const features = {
  access: [],
  agents: [],
  modules: [],
  audit: [],
  backups: [],
  idempotency: [],
  "event-feed": [],
  status: ["agents"],
  maintenance: ["agents"],
  metrics: ["agents"],
  terminals: ["agents"],
  thresholds: ["agents"],
  discovery: ["agents"],
  "enrolment-tokens": ["agents"],
  secrets: ["agents"],
  assignments: ["modules", "agents"],
  "desired-state": ["assignments", "modules", "secrets", "agents"],
  operations: ["desired-state", "assignments", "modules", "secrets", "agents", "maintenance"],
  drift: ["operations", "maintenance", "assignments", "agents"],
  rollouts: ["operations", "desired-state", "maintenance", "assignments", "agents"],
  runs: ["rollouts", "operations", "assignments", "agents"],
  restores: ["rollouts", "operations", "assignments"],
  notifications: ["secrets", "agents", "maintenance"],
  summary: ["rollouts", "operations", "thresholds", "agents"],
};

/** Parts of a feature that others may use beside its service: pure functions over its documents. */
const openParts = { "desired-state": ["desired-states"] };

/** Packages without I/O, a clock or chance in them, and the one place in lib that may use each. */
const pureVendors = [
  { name: "zod", where: "", comment: "Schemas are declared beside what they describe." },
  { name: "yaml", where: "module-format/", comment: "A module is a YAML text; nothing else is." },
  {
    name: "liquidjs",
    where: "module-format/liquid/",
    comment: "Templates are read behind the interface of template.ts, and shut in by that one folder.",
  },
  {
    name: "tweetnacl",
    where: "secrets/vault",
    comment: "Secrets are boxed in one file, whose form is written down there.",
  },
  {
    name: "diff",
    where: "state/",
    comment: "Results carry unified diffs, and results are made by the engine.",
  },
  {
    name: "croner",
    where: "schedules/croner-",
    comment: "Schedules are read by one implementation of a port; paused, it counts and sets no timer.",
  },
  {
    name: "uuidv7",
    where: "options\\.ts",
    comment: "Ids are injected; this is the default that is injected.",
  },
];

/**
 * Where lib may touch the process, the network and the disk: beside the ports, whose own files have a rule of theirs. One file beside them
 * loads packages when they are needed (docs/decisions/0021).
 */
const implementations =
  "^lib/((storage|host|native|transport|agent|testing|notifications/(outbound|senders))/|crypto/node-|module-format/packages\\.ts$)";

const names = Object.keys(features);

function featureRules() {
  return names.map((name) => {
    const known = [...new Set([name, "access", ...features[name]])];
    return {
      name: `${name}-knows-only-what-is-below`,
      comment: "Features form a ladder: knowing upwards or sideways makes a circle sooner or later.",
      severity: "error",
      from: { path: `^lib/${name}/` },
      to: { path: `^lib/(${names.join("|")})/`, pathNot: `^lib/(${known.join("|")})/` },
    };
  });
}

function serviceOnlyRules() {
  const closed = names.filter((name) => name !== "access");
  return closed.map((name) => ({
    name: `${name}-is-used-through-its-service`,
    comment:
      "A feature's parts can change freely as long as no other feature makes one. Schemas are what features share; types cost nothing.",
    severity: "error",
    from: { path: `^lib/(${names.filter((other) => other !== name).join("|")})/` },
    to: {
      path: `^lib/${name}/`,
      pathNot: `^lib/${name}/(${["[a-z]+-service", "schemas", ...(openParts[name] ?? [])].join("|")})\\.ts$`,
      dependencyTypesNot: ["type-only"],
    },
  }));
}

/** The face of a feature asks who calls; whoever has asked already goes to the service. */
const faceRule = {
  name: "faces-are-for-callers",
  comment: "What features need of each other stands in their services (docs/decisions/0018).",
  severity: "error",
  from: { path: `^lib/(${names.join("|")})/` },
  to: { path: `^lib/(${names.join("|")})/\\1\\.ts$`, pathNot: "^lib/access/" },
};

const vendorRules = pureVendors
  .filter((vendor) => vendor.where !== "")
  .map(({ name, where, comment }) => ({
    name: `${name}-in-one-place`,
    comment,
    severity: "error",
    from: { path: "^lib/", pathNot: [`^lib/${where}`, implementations] },
    to: { path: `(^|/)node_modules/${name}/` },
  }));

/** Adapter -> the adapters below it that it may use. Downwards only. */
const adapters = {
  http: [],
  trpc: ["http"],
  rest: ["trpc", "http"],
  h3: ["rest", "trpc", "http"],
  client: [],
  sync: ["client"],
  cli: ["sync", "client", "h3"],
};

const adapterRules = Object.entries(adapters).map(([name, known]) => ({
  name: `adapter-${name}-knows-only-what-is-below`,
  comment: "What two surfaces share stands in adapters/http, so that neither has to know the other's inside.",
  severity: "error",
  from: { path: `^adapters/${name}/` },
  to: {
    path: "^adapters/",
    pathNot: `^adapters/(${[name, ...known].join("|")})/`,
    dependencyTypesNot: ["type-only"],
  },
}));

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    {
      name: "no-circular",
      comment: "In a circle no file can be understood, tested or loaded before the others.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "lib-knows-no-adapter",
      comment: "The library is embedded in programs that have their own server, or none.",
      severity: "error",
      from: { path: "^lib/" },
      to: { path: "^(adapters|examples|test)/" },
    },
    {
      name: "lib-speaks-no-http",
      comment:
        "HTTP, RPC and the command line are adapters' business; their packages must not be needed to embed lib.",
      severity: "error",
      from: { path: "^lib/" },
      to: {
        path: "(^|/)node_modules/(h3|@trpc|listhen|crossws|srvx|trpc-to-openapi|zod-openapi|commander|pino)/",
      },
    },
    {
      name: "built-ins-in-implementations",
      comment:
        "Everything that reaches outside the process stands behind a port, so that a test can stand there instead.",
      severity: "error",
      from: { path: "^lib/", pathNot: implementations },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "vendors-in-implementations",
      comment: "A package that does I/O is a choice of one implementation of a port, never of the library.",
      severity: "error",
      from: { path: "^lib/", pathNot: implementations },
      to: {
        path: "(^|/)node_modules/",
        pathNot: `(^|/)node_modules/(${pureVendors.map((vendor) => vendor.name).join("|")})/`,
        dependencyTypesNot: ["core"],
      },
    },
    ...vendorRules,
    {
      name: "wire-is-pure",
      comment: "Both sides of the protocol and its fuzzers run the same code: messages in, messages out.",
      severity: "error",
      from: { path: "^lib/wire/" },
      to: {
        pathNot:
          "^lib/(wire/|internal/|(errors|json)\\.ts$|state/(result|resource)\\.ts$|secret-format/sealed-secrets\\.ts$|crypto/(crypto|encoding|exchange-key)\\.ts$)|(^|/)node_modules/zod/",
      },
    },
    {
      name: "state-knows-no-orchestrator",
      comment: "The engine runs on the agent and gets everything it does to a machine through the host.",
      severity: "error",
      from: { path: "^lib/state/" },
      to: {
        pathNot:
          "^lib/(state/|internal/|(errors|json|clock|logger)\\.ts$|host/(host|host-error|files-below|trail|posix-acl|hands)\\.ts$|crypto/crypto\\.ts$)|(^|/)node_modules/(zod|diff)/",
      },
    },
    {
      name: "selectors-are-pure",
      comment:
        "The grammar is used by assignments, windows, secrets and filters alike, so it can know none of them.",
      severity: "error",
      from: { path: "^lib/selectors/" },
      to: { pathNot: "^lib/(selectors/|internal/|(errors|json)\\.ts$)|(^|/)node_modules/zod/" },
    },
    {
      name: "ports-are-promises",
      comment: "A port that pulls in code forces it on every implementation; types cost nothing.",
      severity: "error",
      from: {
        path: "^lib/(storage/storage|transport/transport|cluster/cluster|host/host|crypto/crypto|schedules/cron)\\.ts$",
      },
      to: { pathNot: "^lib/(errors|json)\\.ts$", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "internal-is-below-everything",
      comment: "Small helpers know errors, JSON, time and encodings, or they are not small.",
      severity: "error",
      from: { path: "^lib/internal/" },
      to: { path: "^lib/", pathNot: "^lib/(internal/|(errors|json|clock)\\.ts$|crypto/encoding\\.ts$)" },
    },
    {
      name: "crypto-is-below-internal",
      comment: "Helpers know encodings, so what is encoded and signed can't know helpers.",
      severity: "error",
      from: { path: "^lib/crypto/" },
      to: { path: "^lib/internal/" },
    },
    {
      name: "tables-are-below-everything",
      comment: "Codes and JSON are what every other file speaks in.",
      severity: "error",
      from: { path: "^lib/(errors|json)\\.ts$" },
      to: { path: "^lib/", pathNot: "^lib/json\\.ts$" },
    },
    {
      name: "context-knows-no-feature",
      comment: "What every feature is given can know none of them.",
      severity: "error",
      from: { path: "^lib/(context\\.ts|callers/|contents/|upkeep/)" },
      to: { path: `^lib/(${names.join("|")})/` },
    },
    {
      name: "cluster-carries-anything",
      comment:
        "What goes between processes is the business of who sends it: the cluster knows no feature, no storage and no agent.",
      severity: "error",
      from: { path: "^lib/cluster/" },
      to: {
        path: "^lib/",
        pathNot: "^lib/(cluster/|internal/|(errors|json|clock|logger)\\.ts$|crypto/(crypto|encoding)\\.ts$)",
      },
    },
    {
      name: "module-format-is-pure",
      comment: "From a text to resources: nothing of who uploaded it, where it is kept and who may see it.",
      severity: "error",
      from: { path: "^lib/module-format/" },
      to: {
        path: "^lib/",
        pathNot: "^lib/(module-format/|secret-format/|state/|selectors/|internal/|(errors|json)\\.ts$)",
      },
    },
    {
      name: "fleet-folder-is-pure",
      comment:
        "It compares texts with lists: of features it knows what their verbs take and refuse, and nothing of what they do.",
      severity: "error",
      from: { path: "^lib/fleet-folder/" },
      to: {
        path: "^lib/",
        pathNot:
          "^lib/(fleet-folder/|module-format/|selectors/|state/|internal/|crypto/|(errors|json)\\.ts$|[a-z]+/schemas\\.ts$|schedules/|(maintenance/(timing|occurrences)|thresholds/threshold-rules|notifications/(channels/config-rules|senders/(channel-types|sender)))\\.ts$)",
      },
    },
    {
      name: "secret-format-is-pure",
      comment: "Both sides write, find and take out secrets in the same way, and neither knows the other.",
      severity: "error",
      from: { path: "^lib/secret-format/" },
      to: {
        path: "^lib/",
        pathNot:
          "^lib/(secret-format/|internal/|(errors|json)\\.ts$|state/result\\.ts$|crypto/(crypto|encoding)\\.ts$)",
      },
    },
    {
      name: "native-is-below-everything",
      comment:
        "What the kernel is asked for is the same to orchestrator and agent, which must not know each other.",
      severity: "error",
      from: { path: "^lib/native/" },
      to: { path: "^lib/", pathNot: "^lib/native/" },
    },
    {
      name: "product-needs-no-test-code",
      comment: "What is shipped as fleetwright/testing may use the product, never the other way round.",
      severity: "error",
      from: { path: "^lib/", pathNot: "^lib/testing/" },
      to: { path: "^lib/testing/" },
    },
    {
      name: "agent-knows-no-orchestrator",
      comment: "The agent runs on every machine of the fleet and must not carry the orchestrator with it.",
      severity: "error",
      from: { path: "^lib/agent/" },
      to: {
        path: `^lib/(orchestrator\\.ts|options\\.ts|option-table\\.ts|context\\.ts|storage/|(${names.join("|")})/)`,
      },
    },
    {
      name: "orchestrator-touches-no-machine",
      comment:
        "Machines are reached by message only; a feature that has a host would act on the orchestrator's own.",
      severity: "error",
      from: {
        path: `^lib/(orchestrator\\.ts|options\\.ts|option-table\\.ts|context\\.ts|(${names.join("|")})/)`,
      },
      to: { path: "^lib/(agent|host)/" },
    },
    ...featureRules(),
    ...serviceOnlyRules(),
    faceRule,
    {
      name: "outside-uses-public-entries",
      comment: "What adapters and examples need, every user needs: it is exported, or it is not needed.",
      severity: "error",
      from: { path: "^(adapters|examples)/" },
      to: {
        path: "^lib/",
        pathNot: "^lib/(index|errors|option-table|ports|agent/index|testing/index)\\.ts$",
      },
    },
    ...adapterRules,
    {
      name: "adapters-define-no-schema",
      comment: "One schema an input, in the feature, or lib, tRPC and REST drift apart.",
      severity: "error",
      from: { path: "^adapters/" },
      to: { path: "(^|/)node_modules/zod/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "shipped-code-needs-shipped-packages",
      comment: "A development dependency is not there when the package is installed.",
      severity: "error",
      from: { path: "^(lib|adapters)/" },
      to: { dependencyTypes: ["npm-dev"], dependencyTypesNot: ["type-only"] },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^(dist|test|docs|coverage|\\.mutants)/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "types", "default"],
    },
  },
};
