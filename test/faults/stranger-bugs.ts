import type { Bug } from "./bugs.ts";

/** Bugs that somebody thought of who had read the sources and none of the tests. */
export const strangerBugs: readonly Bug[] = [
  {
    name: "a sample that could not be stored is not taken when it alone comes again",
    file: "lib/metrics/metric-intake.ts",
    from: "first > missing",
    to: "first >= missing",
    tests: ["test/metrics/metrics.test.ts"],
  },
  {
    name: "a delivery shows the errors of attempts before the last one",
    file: "lib/notifications/channels/outbox.ts",
    from: "{ error: _error, status_code: _code, ...before }: Readonly<DeliveryDocument>",
    to: "before: Readonly<DeliveryDocument>",
    tests: ["test/notifications/channels/outbox.test.ts"],
  },
  {
    name: "a machine that can't name its boot counts as not started anew",
    file: "lib/agent/recovery.ts",
    from: "boot !== null && boot === journal.boot",
    to: "boot === journal.boot",
    tests: ["test/agent/recovery.test.ts"],
  },
  {
    name: "taking a setting of the kernel back brings a file back that somebody removed",
    file: "lib/state/resources/sysctl.ts",
    from: "    if (text === null && each.kept) continue;\n",
    tests: ["test/state/resources/sysctl.test.ts"],
  },
  {
    name: "a run about a module that let a thing go drops what the thing owes to another",
    file: "lib/state/run/debts.ts",
    from: "scope.has({ module }) && scope.outside(applied.get(thing)).length === 0",
    to: "scope.has({ module })",
    tests: ["test/state/owed-by-two.test.ts"],
  },
  {
    name: "a job that goes takes the last line break of what others put below it",
    file: "lib/state/resources/cron.ts",
    from: 'spec.bare_end === true && edited.endsWith("\\n") && isLast(text, spec.name)',
    to: 'spec.bare_end === true && edited.endsWith("\\n")',
    tests: ["test/state/resources/cron.test.ts"],
  },
  {
    name: "a source of packages stays untried where the apply is cut off",
    file: "lib/state/resources/package-repository.ts",
    from: "write(spec, before, { host, signal: new AbortController().signal })",
    to: "write(spec, before, { host, signal })",
    tests: ["test/state/resources/package-repository.test.ts"],
  },
  {
    name: "a message that comes as a queue runs empty waits for the next one",
    file: "lib/transport/inbound-queue.ts",
    from: "      this.#run = null;\n      this.#start();\n",
    to: "      this.#run = null;\n",
    tests: ["test/transport/inbound-queue.test.ts"],
  },
  {
    name: "a file of an agent of another length than was built stays open",
    file: "adapters/h3/downloads.ts",
    from: `  await handle.close();\n  throw new`,
    to: `  throw new`,
    tests: ["test/adapters/h3/downloads.test.ts"],
  },
  {
    name: "a run whose last script is cut by a cancel says that it failed",
    file: "lib/state/run/engine.ts",
    from: ` || code === "CANCELLED"`,
    tests: ["test/state/failed-change.test.ts"],
  },
];
