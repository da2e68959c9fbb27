/** Mutants that no test can kill, because a program with them behaves as one without: each with the reason. */

/** An equivalent mutant, by what stands where and what a mutator puts there. */
export interface Equivalent {
  file: string;
  /** The line that it is in, as it stands there, without what is around it. */
  line: string;
  replacement: string;
  reason: string;
}

export const equivalents: readonly Equivalent[] = [
  {
    file: "adapters/client/api-error.ts",
    line: `if (typeof value !== "object" || value === null) return false;`,
    replacement: `typeof value !== "object" && value === null`,
    reason:
      "What is no object has none of the fields, and that null has no fields at all is caught by whoever asks.",
  },
  {
    file: "adapters/h3/serve.ts",
    line: 'const [firstKey = ""] = /-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?-----END /.exec(tls.key) ?? [];',
    replacement: `["Stryker was here"]`,
    reason: "Where there is no key, either text is none that needs a passphrase.",
  },
  {
    file: "adapters/rest/parameters.ts",
    line: `const text = encoded.includes("%") ? decode(encoded, name) : encoded;`,
    replacement: `""`,
    reason:
      "Decoding leaves a text without % as it is, and control characters stand in a path only percent-encoded.",
  },
  {
    file: "lib/access/access-service.ts",
    line: `const key = this.#context.crypto.deriveKey(secret, new Uint8Array(0), "fleetwright/1 challenge", 32);`,
    replacement: `""`,
    reason:
      "The label keeps this key apart from others of the same secret, and none of these has an empty one.",
  },
  {
    file: "lib/access/challenges.ts",
    line: `const [body = "", mac = ""] = challengeId.split(".");`,
    replacement: `"Stryker was here!"`,
    reason:
      "There is always a first part; for want of a second one, either text is no good authentication code.",
  },
  {
    file: "lib/agents/pending-slots.ts",
    line: `const isOwn = network === networkOfAddress(this.#registry.pending.addressOf(nodeId) ?? "");`,
    replacement: `"Stryker was here!"`,
    reason: "Who gives way waits, and of each that waits an address is known, be it an empty one.",
  },
  {
    file: "lib/audit/block-indexing.ts",
    line: `const { base } = await this.#context.storage.readLog(auditLog, { limit: 1 });`,
    replacement: `{}`,
    reason: "What the log begins behind is told with a page of any size.",
  },
  {
    file: "lib/host/local-files.ts",
    line: `return (linksOf === null ? readdirSync(real) : listOpen(real)).sort();`,
    replacement: `false`,
    reason:
      "A folder that is opened first has the same names; where nobody can swap it, that is only slower.",
  },
  {
    file: "lib/host/local-paths.ts",
    line: `if (known) {`,
    replacement: `{}`,
    reason: "Without what is known the same folder is found, by its way from the top.",
  },
  {
    file: "lib/host/local-subreaper.ts",
    line: `child.once("error", () => child.pid === undefined && children.delete(child));`,
    replacement: `() => undefined`,
    reason:
      "What could not be started has no number, and is passed over where numbers are asked for: it costs memory alone.",
  },
  {
    file: "lib/host/local-subreaper.ts",
    line: `seen = zombies.filter((zombie) => !isKnown(zombie));`,
    replacement: `zombies`,
    reason: "One more look finds those gone that were taken note of.",
  },
  {
    file: "lib/idempotency/idempotency-service.ts",
    line: `await this.#keep(claim, "refused", { code, message, details, issues });`,
    replacement: `""`,
    reason: "What is none of the other three states is answered as a refusal.",
  },
  {
    file: "lib/maintenance/window-book.ts",
    line: `if (atMs >= this.#from && atMs < this.#to) return this.of(target, atMs);`,
    replacement: `atMs > this.#from`,
    reason: "Both ways tell the same of an instant, and what is remembered stays in either.",
  },
  {
    file: "lib/maintenance/window-rounds.ts",
    line: `#isAsked = false;`,
    replacement: `true`,
    reason: "Who looks at it has set it first.",
  },
  {
    file: "lib/maintenance/window-rounds.ts",
    line: `if (this.#isLooking) return;`,
    replacement: `false`,
    reason: "Two that look at once try the same commits, of which one goes in, and the other says nothing.",
  },
  {
    file: "lib/metrics/prometheus-text.ts",
    line: String.raw`const [, name = "", value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(part) ?? [];`,
    replacement: `["Stryker was here"]`,
    reason: "What stands first is the whole match, which nobody looks at.",
  },
  {
    file: "lib/notifications/channels/audit-forwarding.ts",
    line: `if (!this.#duty.isMine) return;`,
    replacement: `false`,
    reason: "Whose duty it is is asked again before each event that is told.",
  },
  {
    file: "lib/operations/applied-modules.ts",
    line: `return module.operation_id > operation_id && module.applied.revision > revision;`,
    replacement: `module.operation_id >= operation_id`,
    reason: "What waits has not ended, and so is the newest apply about no module.",
  },
  ...["a <= b", "a >= b"].map((replacement) => ({
    file: "lib/operations/applied-modules.ts",
    line: `JSON.stringify(Object.entries(named).toSorted(([a], [b]) => (a < b ? -1 : 1)));`,
    replacement,
    reason: "No two names are equal, and either order makes equal texts of what is equal.",
  })),
  {
    file: "lib/operations/commands.ts",
    line: `#forget(id: string, { node_id, operation_id, names = [] }: Operation, untilMs: number): Promise<boolean> {`,
    replacement: `["Stryker was here"]`,
    reason: "Every forgetting has names.",
  },
  {
    file: "lib/operations/dispatcher.ts",
    line: `#returning = false;`,
    replacement: `true`,
    reason: "What takes up what was open sets it before anything begins.",
  },
  {
    file: "lib/operations/operation-results.ts",
    line: `if (part.length > 0 && size + itemSize > partSize) {`,
    replacement: `size + itemSize >= partSize`,
    reason: "What is divided comes back whole, wherever it was divided.",
  },
  {
    file: "lib/operations/operation-retention.ts",
    line: `if (surplus <= 0) return;`,
    replacement: `surplus < 0`,
    reason: "Where there is no surplus it looks at the oldest, and removes none.",
  },
  {
    file: "lib/operations/operation-retention.ts",
    line: `if (at % surplusAtOnce === surplusAtOnce - 1) yield;`,
    replacement: `true`,
    reason: "Others have their turn more often, and find the same.",
  },
  {
    file: "lib/operations/progress-pipe.ts",
    line: `done.addEventListener("abort", () => timer.cancel(), { once: true });`,
    replacement: `{}`,
    reason: "A signal is aborted once, and this one goes with its listener.",
  },
  {
    file: "lib/operations/progress-pipe.ts",
    line: `done.addEventListener("abort", () => timer.cancel(), { once: true });`,
    replacement: `""`,
    reason: "What the timer aborts after two seconds is read no longer.",
  },
  ...[
    `const { rollout_id: rolloutId = "" } = after;`,
    `const { rollout_id: rolloutId = "", changes } = after;`,
  ].map((line) => ({
    file: "lib/rollouts/rollout-corrections.ts",
    line,
    replacement: `"Stryker was here!"`,
    reason: "What is corrected here is of a rollout.",
  })),
  {
    file: "lib/rollouts/rollout-list.ts",
    line: `if (status !== undefined) return { index: "by_status", equals: [status] };`,
    replacement: `{}`,
    reason: "Without an index more is read, and filtered to the same.",
  },
  {
    file: "lib/rollouts/rollout-members.ts",
    line: `if (at > from) await nextTurn();`,
    replacement: `at >= from`,
    reason: "Others have their turn once more, before anything is read.",
  },
  {
    file: "lib/rollouts/rollout-run.ts",
    line: `return { kind: "operator", operator_id: id, username: name, role: "Viewer", session_id: "", ...from };`,
    replacement: `"Stryker was here!"`,
    reason: "This caller is only named in events, by id and username, and its session is never looked up.",
  },
  {
    file: "lib/rollouts/rollout-run.ts",
    line: `#asked = false;`,
    replacement: `true`,
    reason: "Who looks at it has set it first.",
  },
  {
    file: "lib/rollouts/rollout-run.ts",
    line: `this.#cancelled ||= cancelled_by !== undefined;`,
    replacement: `this.#cancelled &&= cancelled_by !== undefined`,
    reason: "What was asked to end is passed over where it is looked at again.",
  },
  {
    file: "lib/state/foreseen/foreseen-host.ts",
    line: `restingPlaces: readonly string[] = [];`,
    replacement: `["Stryker was here"]`,
    reason:
      "It is emptied before the first question, and without a resource that brings something nobody reads it.",
  },
  {
    file: "lib/state/resources/shared/marked-lines.ts",
    line: `if (text === "") return false;`,
    replacement: `false`,
    reason: "No marks stand in an empty text.",
  },
  {
    file: "lib/state/run/capture.ts",
    line: `return watching.length === 0 ? undefined : handOver([], run, watching);`,
    replacement: `false`,
    reason: "Where there is nothing to hand over, nothing is handed over a step later.",
  },
  {
    file: "lib/state/run/capture.ts",
    line: `if (!capturing && captured && isSamePrior(item.prior, handed)) return undefined;`,
    replacement: `false`,
    reason: "What stands as it was handed over is not handed over again a step later.",
  },
  {
    file: "lib/state/run/converge.ts",
    line: `if (working) await working;`,
    replacement: `true`,
    reason: "To wait for nothing takes one step more.",
  },
  {
    file: "lib/state/run/examine.ts",
    line: `if (giving) await giving;`,
    replacement: `true`,
    reason: "To wait for nothing takes one step more.",
  },
  {
    file: "lib/state/run/fights.ts",
    line: `if (lost === null || other.isOneLine !== true) return true;`,
    replacement: `true`,
    reason: "Who has none of the lines that go leaves the rest as it leaves the whole.",
  },
  {
    file: "lib/state/run/fights.ts",
    line: `const inHome = own.of.startsWith("~") ? own.of.slice(own.of.indexOf("/")) : null;`,
    replacement: `own.of`,
    reason: "The check right before it met no link below either folder.",
  },
  {
    file: "lib/state/run/identities.ts",
    line: `this.#paths = links.size === 0 ? now : new RealPaths({ ...looking, links: reals });`,
    replacement: `false`,
    reason: "Without links both find the same.",
  },
  {
    file: "lib/state/run/parts.ts",
    line: `const younger = left.filter((parts) => parts.place > place);`,
    replacement: `left`,
    reason: "What older ones noted is taken over again behind that, and has the last word.",
  },
  {
    file: "lib/state/run/parts.ts",
    line: `const own = known && readPrior(known, type);`,
    replacement: `known || readPrior(known, type)`,
    reason: "What `inherit` gives is what the schema makes of it.",
  },
  {
    file: "lib/state/run/real-paths.ts",
    line: 'if (typeof parent !== "string" || !from.startsWith(`${parent}/`)) return parent;',
    replacement: "``",
    reason: "Folders that were made on the way to a path are above it.",
  },
  {
    file: "lib/state/run/shared-things.ts",
    line: `if (modules.size === 0) return [];`,
    replacement: `false`,
    reason: "Where no module shares a thing, none is found among those that do.",
  },
  {
    file: "lib/state/run/shared-things.ts",
    line: `const paths = all.flatMap((target) => (target ? places(target, identities) : []));`,
    replacement: `["Stryker was here"]`,
    reason: "It is no path, and nothing is within it.",
  },
  {
    file: "lib/state/run/shared-things.ts",
    line: `const places = (target ? placesOf(target, identities) : []).map((place) => identities.realPath(place));`,
    replacement: `["Stryker was here"]`,
    reason: "It is no path, and below no other.",
  },
  {
    file: "lib/state/run/shared-things.ts",
    line: `const places = thing.target ? placesOf(thing.target, identities) : [];`,
    replacement: `["Stryker was here"]`,
    reason: "It is no path, and below no other.",
  },
  {
    file: "lib/state/run/state-item.ts",
    line: `absent: wantsNothing ? own : [],`,
    replacement: `["Stryker was here"]`,
    reason: "It is no path, and in no folder.",
  },
  {
    file: "lib/state/run/state-item.ts",
    line: `owner: owner === undefined ? [] : own,`,
    replacement: `["Stryker was here"]`,
    reason: "It is no path, and in no folder.",
  },
  {
    file: "lib/state/run/failures.ts",
    line: `if (requires.length === 0 && !watchesAny(resource)) return undefined;`,
    replacement: `false`,
    reason: "Among none no one is found that was not done.",
  },
  {
    file: "lib/state/run/walk.ts",
    line: `if (result.outcome !== "unchanged" && result.outcome !== "skipped") state.moment += 1;`,
    replacement: `true`,
    reason: "The paths are looked at once more, and lead where they led.",
  },
  {
    file: "lib/state/text-edits.ts",
    line: `return index < at ? [fightOf(claim, whole)] : [fightOf(whole, claim)];`,
    replacement: `index <= at`,
    reason: "The one at that place is the whole text itself, which was passed over.",
  },
  {
    file: "lib/storage/file/byte-reader.ts",
    line: `if (parts.length > 1) this.#rest = Buffer.concat(parts);`,
    replacement: `parts.length >= 1`,
    reason: "Of one part it makes a copy, with the same bytes.",
  },
  {
    file: "lib/storage/file/disk.ts",
    line: `this.#isNote = mode === "note";`,
    replacement: `mode !== "note"`,
    reason: "The same bytes stand there either way: it says only whether a thread of the pool writes them.",
  },
  {
    file: "lib/wire/scan-text.ts",
    line: `if (digit < 0) return -1;`,
    replacement: `false`,
    reason:
      "An escape without its four digits is refused by the parser, however many bytes it is taken for here.",
  },
  {
    file: "lib/secrets/secret-service.ts",
    line: `if (this.keys.isOpen) this.#context.inputKey = () => this.#inputKey.get("", () => this.#readInputKey());`,
    replacement: `"Stryker was here!"`,
    reason: "One key is kept, under whichever name.",
  },
  {
    file: "lib/selectors/selector-index.ts",
    line: `if (!candidates || candidates.atMost * 8 > this.size) {`,
    replacement: `false`,
    reason: "Both ways find the same agents in the same order, and which one is taken is a matter of time.",
  },
  {
    file: "lib/selectors/selector-index.ts",
    line: `const walks = !candidates || candidates.atMost ** 2 > limit * this.size;`,
    replacement: `candidates.atMost ** 2 >= limit * this.size`,
    reason: "Both ways find the same agents, and at the bound they cost the same.",
  },
  {
    file: "lib/selectors/selector-index.ts",
    line: `exact: term.kind === "exists",`,
    replacement: `false`,
    reason: "What is found by an index is then looked at again, with the same result.",
  },
  {
    file: "lib/terminals/schemas.ts",
    line: `.custom<object>((value) => typeof value === "object" && value !== null)`,
    replacement: `true`,
    reason: "Of what a verb answers with, no recording is null.",
  },
];
