import type { Bug } from "./bugs.ts";

/** A change from one version to the next that ends in the middle, and what comes one after the other. */
export const versionBugs: readonly Bug[] = [
  {
    name: "what an old archive had is not known as ours while it is taken away",
    file: "lib/state/resources/archive/extract.ts",
    from: "    entries: [...coming, ...leaving],\n",
    to: "    entries: coming,\n",
    tests: ["test/state/changed-definitions.test.ts"],
  },
  {
    name: "the line of the first version is forgotten with the second",
    file: "lib/state/resources/line.ts",
    from: "      ours: [...written, ...added],",
    to: "      ours: writes(spec),",
    tests: ["test/state/changed-definitions.test.ts"],
  },
  {
    name: "packages that were left for a version that failed are nobody's",
    file: "lib/state/run/parts.ts",
    from: "  return prior ? [{ resource, prior }] : [];\n",
    to: "  return prior && !target ? [{ resource, prior }] : [];\n",
    tests: ["test/state/changed-definitions.test.ts"],
  },
  {
    name: "a version that failed is noted with packages that were not left for it",
    file: "lib/state/resources/package/sharing.ts",
    from: "  const name = isAwaited ? [...before.keys()] : (prior ?? spec).name;",
    to: "  const name = isAwaited ? spec.name : (prior ?? spec).name;",
    tests: ["test/state/awaited-packages.test.ts"],
  },
  {
    name: "of several lists that become one the youngest says what stood",
    file: "lib/state/run/parts.ts",
    from: "parts.place < place).toReversed();",
    to: "parts.place < place);",
    tests: ["test/state/awaited-packages.test.ts"],
  },
  {
    name: "packages that come back after a version without them are captured each time",
    file: "lib/state/resources/package.ts",
    from: "more.length > 0 || namesOf(known).length < namesOf(spec).length",
    to: "more.length > 0",
    tests: ["test/state/awaited-packages.test.ts"],
  },
  {
    name: "packages that were left when the agent was killed are nobody's",
    file: "lib/agent/recovery.ts",
    from: "desired: resourcesOf(operation)",
    to: "desired: []",
    tests: ["test/agent/recovery-packages.test.ts"],
  },
  {
    name: "what a mask hid is not looked for when it is taken off",
    file: "lib/state/resources/service.ts",
    from: "    for (const more of verbsFor(compare(spec, state))) wanted.add(more);\n",
    to: "",
    tests: ["test/state/changed-definitions.test.ts"],
  },
  {
    name: "the next long message is written over the one before",
    file: "lib/wire/framing.ts",
    from: "    this.#room = nothing;\n    this.#size = 0;\n",
    to: "    this.#size = 0;\n",
    tests: ["test/wire/framing.test.ts"],
  },
  {
    name: "the weekly pass of the audit log begins anew where the log grew meanwhile",
    file: "lib/audit/self-check.ts",
    from: "      noted = await this.#record.note(await this.#record.read(), { pass });",
    to: "      noted = await this.#record.note(noted, { pass });",
    tests: ["test/audit/self-check.test.ts"],
  },
];
