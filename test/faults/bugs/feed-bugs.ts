import type { Bug } from "./bugs.ts";

const conformance = ["test/storage/conformance.test.ts"];
const streams = ["test/event-feed/resume.test.ts"];
const tail = "lib/event-feed/event-tail.ts";

/** Bugs by which somebody hears of what is committed too early, never, twice or in another order. */
export const feedBugs: readonly Bug[] = [
  {
    name: "what a listener commits is told before what it was told of",
    file: "lib/storage/followers.ts",
    from: `    if (this.#isTelling) return;\n`,
    tests: conformance,
  },
  {
    name: "a commit is told before it is written",
    file: "lib/storage/file/commit-pump.ts",
    from: `        await this.#target.write(batch.effects, { reserve });\n        this.#failed = false;\n        this.#target.apply(batch.effects);`,
    to: `        this.#target.apply(batch.effects);\n        await this.#target.write(batch.effects, { reserve });\n        this.#failed = false;`,
    tests: ["test/storage/failures.test.ts"],
  },
  {
    name: "a document is told as it is now, not as the commit left it",
    file: "lib/storage/collection.ts",
    from: `    return this.#documents.get(text.key) === text ? this.#read(text) : text.parse();`,
    to: `    return this.get(text.key) ?? text.parse();`,
    tests: conformance,
  },
  {
    name: "a stream passes over events that are kept no more",
    file: tail,
    from: `    if (entries[0]?.sequence !== sequence + 1) return [];\n`,
    tests: streams,
  },
  {
    name: "a stream passes over events that could not be written",
    file: tail,
    from: `  if ("missing" in record) return { kind: "reset", id };`,
    to: `  if ("missing" in record) return { kind: "position", id };`,
    tests: streams,
  },
  {
    name: "an item of another server is taken for one's own",
    file: tail,
    from: `return record.mark === mark ? place : null;`,
    to: `return place;`,
    tests: streams,
  },
  {
    name: "a stream begins after the restart, not after the item",
    file: tail,
    from: `    const found = after === undefined ? this.#present : await this.#find(after);`,
    to: `    const found = after === undefined || !(await this.#find(after)) ? this.#present : this.#present;`,
    tests: streams,
  },
  {
    name: "a stream tells the item again that it goes on after",
    file: tail,
    from: `    let at = found ?? this.#present;`,
    to: `    let at = found ? { ...found, sequence: Math.max(0, found.sequence - 1) } : this.#present;`,
    tests: streams,
  },
  {
    name: "a stream skips the item behind the one that it goes on after",
    file: tail,
    from: `    let at = found ?? this.#present;`,
    to: `    let at = found ? { ...found, sequence: Math.min(found.sequence + 1, this.#head.sequence) } : this.#present;`,
    tests: streams,
  },
  {
    name: "a stream skips what lies between the log and what is in memory",
    file: tail,
    from: `return from < 0 ? null`,
    to: `return from < -1 ? null`,
    tests: streams,
  },
  {
    name: "a stream goes on after the server has let it go",
    file: "lib/access/streams.ts",
    from: `      for (const end of this.#open) end(stopping());\n`,
    tests: streams,
  },
  {
    name: "a restart gives ids that come before those of the log",
    file: "lib/feed/feed.ts",
    from: `    for (const { value } of entries) this.#ids.see(value.id);\n`,
    tests: streams,
  },
  {
    name: "a listener that fails keeps the others from hearing",
    file: "lib/feed/feed.ts",
    from: `      this.#logger.error("A listener failed.", { error, ...where });`,
    to: `      throw Object.assign(new Error("A listener failed."), { cause: error, where });`,
    tests: ["test/event-feed/event-feed.test.ts"],
  },
  {
    name: "a restart tells again who is away",
    file: "lib/agents/offline-events.ts",
    from: `      this.#told.add(key);\n      // The process before`,
    to: `      // The process before`,
    tests: ["test/agents/offline-events.test.ts"],
  },
  {
    name: "the sweeper ends what was heard of in the same moment",
    file: "lib/operations/outcomes.ts",
    from: `      if (!stillCounts(before, outcome)) return null;\n`,
    tests: ["test/operations/sweeper.test.ts"],
  },
  {
    name: "nobody looks for what waited too long",
    file: "lib/operations/sweeper.ts",
    from: `    failures.push(...(await this.#endDue(expiries, now)));\n`,
    tests: ["test/operations/sweeper.test.ts"],
  },
  {
    name: "a wish to cancel is heard only by whoever wrote it",
    file: "lib/operations/dispatcher.ts",
    from: `      this.#work.do(() => this.#cancel(after));`,
    to: `      void this.#cancel;`,
    tests: ["test/operations/sweeper.test.ts"],
  },
  {
    name: "what is held after a restore does not hear that it may go on",
    file: "lib/epochs.ts",
    from: `    if (wasPaused && !this.isPaused) for (const watcher of this.#watchers) watcher();\n`,
    tests: ["test/restores/restores.test.ts"],
  },
  {
    name: "an agent is not told of its status",
    file: "lib/agents/standing.ts",
    from: `    if (after === "approved") this.approve(nodeId);`,
    to: `    if (after === "approved") return;`,
    tests: ["test/operations/sweeper.test.ts"],
  },
];
