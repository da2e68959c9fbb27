/** Bugs of what a run, a plan and the host do, which readers put in where nothing looked. */
import type { Bug } from "./bugs.ts";

export const engineRoomBugs: readonly Bug[] = [
  {
    name: "the last line of a terminal is never found",
    file: "lib/terminals/transcript.ts",
    from: `  if (rest.length > 0) yield rest.join("");`,
    to: ``,
    tests: ["test/terminals/transcript-pieces.test.ts"],
  },
  {
    name: "a recording that goes on is shown with half an event",
    file: "lib/terminals/transcript.ts",
    from: `recording === "complete" ? pieces`,
    to: `recording !== "partial" ? pieces`,
    tests: ["test/terminals/transcript-pieces.test.ts"],
  },
  {
    name: "an agent of which twenty checks wait was never checked",
    file: "lib/drift/drift-service.ts",
    from: `      if (ended) return ended.key;`,
    to: `      return ended?.key ?? null;`,
    tests: ["test/drift/drift-records.test.ts"],
  },
  {
    name: "a run that is cancelled waits for the next try all the same",
    file: "lib/state/run/converge.ts",
    from: `    if (stop.aborted) end();\n`,
    tests: ["test/state/retries.test.ts"],
  },
  {
    name: "what could not be taken away again of a folder counts as nothing",
    file: "lib/state/run/observed-host.ts",
    from: `      if (this.#own.some((own) => isBelow(path, own))) this.#paths.add(path);\n`,
    tests: ["test/state/observed-host.test.ts"],
  },
  {
    name: "a folder goes from under an undo where something is to be in it",
    file: "lib/state/run/failures.ts",
    from: `resource.type !== "directory" && above.has(place)`,
    to: `above.has(place)`,
    tests: ["test/state/removal/needed-by-what-stays.test.ts"],
  },
  {
    name: "a plan shows a judge neighbours that an apply hides",
    file: "lib/state/foreseen/judged-copy.ts",
    from: `  if (files.ledBy(neighbourhood) !== null) return;\n`,
    tests: ["test/state/foreseen/judged-copy.test.ts"],
  },
  {
    name: "an agent brings new names without end while nothing can be stored",
    file: "lib/metrics/metric-intake.ts",
    from: `      this.#keepNames(nodeId);\n      this.#agents.delete(nodeId);\n      this.#missing`,
    to: `      this.#agents.delete(nodeId);\n      this.#missing`,
    tests: ["test/metrics/left-to-agents.test.ts"],
  },
  {
    name: "what an agent of another user is writing is taken away from it",
    file: "lib/host/leftovers.ts",
    from: `    return errnoOf(error) !== "ESRCH";`,
    to: `    return false;`,
    tests: ["test/host/leftovers.test.ts"],
  },
  {
    name: "nobody knows where a file was being written while others became durable",
    file: "lib/host/local-sync.ts",
    from: `    if (this.isEmpty) this.#leftovers?.forget();`,
    to: `    this.#leftovers?.forget();`,
    tests: ["test/host/leftovers.test.ts"],
  },
  {
    name: "a start tells of a secret that expires as of one that has",
    file: "lib/secrets/expiries.ts",
    from: `value.stage === "expiring" && `,
    tests: ["test/secrets/expiries.test.ts"],
  },
  {
    name: "an old value of a secret is not found behind a new one",
    file: "lib/secrets/secret-service.ts",
    from: `Math.min(version, versions.get(name) ?? Infinity)`,
    to: `version`,
    tests: ["test/secrets/changed-secrets.test.ts"],
  },
  {
    name: "a folder that was given to somebody counts as the one it was",
    file: "lib/host/replace-file.ts",
    from: `        if (stats.isDirectory()) paths.forget();\n`,
    tests: ["test/host/changed-ways.test.ts"],
  },
  {
    name: "an archive without a hash is not taken from where its owner can change it",
    file: "lib/state/resources/archive/extract.ts",
    from: `if (sha256 !== undefined && sha256 !== kept.sha256) return hashSource`,
    to: `if (sha256 !== kept.sha256) return hashSource`,
    tests: ["test/state/resources/archive/stage.test.ts"],
  },
];
