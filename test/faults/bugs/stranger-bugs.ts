/** Bugs that a reader of the sources thought of, and no test noticed. */
import type { Bug } from "./bugs.ts";

export const strangerBugs: readonly Bug[] = [
  {
    name: "a machine that flapped settles with no alarms, whatever stands",
    file: "lib/thresholds/alarm-upkeep.ts",
    from: "threshold_id === undefined || value.threshold_id === threshold_id",
    to: "value.threshold_id === threshold_id",
    tests: ["test/thresholds/flapped-and-let-go.test.ts"],
  },
  {
    name: "a confined host is led to a folder beside its root whose name begins as the root's does",
    file: "lib/host/local-paths.ts",
    from: "reached.path === root || reached.path.startsWith(`${root}/`)",
    to: "reached.path.startsWith(root)",
    tests: ["test/host/local-host.test.ts"],
  },
  {
    name: "a module that supports several platforms contradicts none",
    file: "lib/module-format/module-comparison.ts",
    from: `return supports.length > 1 ? [{ kind: "or", operands: supports }] : supports;`,
    to: "return supports;",
    tests: ["test/assignments/assignment-agreement.test.ts"],
  },
  {
    name: "a name with capitals that was given up is taken for free",
    file: "lib/agents/replacements.ts",
    from: `await this.#context.storage.get("agent_names", name.toLowerCase())`,
    to: `await this.#context.storage.get("agent_names", name)`,
    tests: ["test/agents/replaced-back.test.ts"],
  },
  {
    name: "of a secret in two versions the newer counts",
    file: "lib/secrets/secret-service.ts",
    from: "Math.min(version, versions.get(name) ?? Infinity)",
    to: "Math.max(version, versions.get(name) ?? 0)",
    tests: ["test/secrets/secrets.test.ts"],
  },
  {
    name: "an id in capitals is found of some kinds only",
    file: "adapters/cli/find-id.ts",
    from: "id.startsWith(typed.toLowerCase())",
    to: "id.startsWith(typed)",
    tests: ["test/adapters/cli/find-id.test.ts"],
  },
  {
    name: "only the first plus sign of a query is a space",
    file: "adapters/rest/parameters.ts",
    from: `decode(text.replaceAll("+", " "), name)`,
    to: `decode(text.replace("+", " "), name)`,
    tests: ["test/adapters/rest/parameters.test.ts"],
  },
  {
    name: "a search misses the event at the seam of two calls",
    file: "lib/audit/listing.ts",
    from: "goOn: reverse ? stretch.newest : stretch.oldest",
    to: "goOn: reverse ? stretch.newest - 1 : stretch.oldest + 1",
    tests: ["test/audit/block-index.test.ts"],
  },
  {
    name: "the name of an operation of a rollout is that of the rollout",
    file: "adapters/cli/output.ts",
    from: `  "operation_id",
  "rollout_id",
`,
    to: `  "rollout_id",
  "operation_id",
`,
    tests: ["test/adapters/cli/output.test.ts"],
  },
  {
    name: "what is added to a text counts a line without a break among its line breaks",
    file: "lib/state/resources/shared/text-lines.ts",
    from: `dos * 2 > lines.filter(({ end }) => end !== "").length ?`,
    to: "dos * 2 > lines.length ?",
    tests: ["test/state/resources/line-breaks.test.ts"],
  },
  {
    name: "a mode of three digits contradicts the same one with four",
    file: "lib/state/text-edits.ts",
    from: `const after = mode.padStart(4, "0");`,
    to: "const after = mode;",
    tests: ["test/state/removal/modes-around-keys.test.ts"],
  },
  {
    name: "a link that is removed still leads",
    file: "lib/host/local-files.ts",
    from: `        if (there.isSymbolicLink()) this.#paths.forget();
`,
    to: "",
    tests: ["test/host/changed-ways.test.ts"],
  },
  {
    name: "a baseline that no operation refers to is cleaned away",
    file: "lib/operations/snapshots.ts",
    from: `  ["agent_states", "by_baseline"],
`,
    to: "",
    tests: ["test/contents/loosened.test.ts"],
  },
  {
    name: "a tag of a key is accepted",
    file: "lib/module-format/yaml-text.ts",
    from: `      if (key.tag !== undefined)
        this.fault(path, "Tags are not allowed; quote what is to be text.", key.range[0]);
`,
    to: "",
    tests: ["test/module-format/module-document.test.ts"],
  },
  {
    name: "the second removal of events that fails does not go on",
    file: "lib/audit/pruning.ts",
    from: `      this.#isWaiting = false;
`,
    to: "",
    tests: ["test/audit/pruning.test.ts"],
  },
  {
    name: "two versions of a secret in one operation are one",
    file: "lib/secrets/deliveries.ts",
    from: "const key = `${name}@${version}`;",
    to: "const key = name;",
    tests: ["test/secrets/secrets.test.ts"],
  },
  {
    name: "a profile that is not there is not told beside an empty address",
    file: "adapters/cli/profile.ts",
    from: `name === usualProfile || setIn(context.environment, "FLEETWRIGHT_URL") !== undefined`,
    to: `name === usualProfile || context.environment["FLEETWRIGHT_URL"] !== undefined`,
    tests: ["test/adapters/cli/user-folder.test.ts"],
  },
  {
    name: "a page of an allowed host on another port may not call",
    file: "adapters/h3/hosts.ts",
    from: "allowed?.has(hostNameOf(from.host)) === true",
    to: "allowed?.has(from.host) === true",
    tests: ["test/adapters/h3/hosts.test.ts"],
  },
  {
    name: "a name that is given up in capitals is in nobody's way",
    file: "lib/agents/renames.ts",
    from: "this.#registry.index.get(nodeId)?.name?.toLowerCase();",
    to: "this.#registry.index.get(nodeId)?.name;",
    tests: ["test/agents/renames.test.ts"],
  },
  {
    name: "what was owed before goes with a change that did not come about",
    file: "lib/agent/owed-after.ts",
    from: `    return edges.filter(({ watcher, key, trigger }) =>
      this.#owed.incur(watcher, { key, trigger, operationId }),
    );`,
    to: `    for (const { watcher, key, trigger } of edges) this.#owed.incur(watcher, { key, trigger, operationId });
    return [...edges];`,
    tests: ["test/agent/owed-after.test.ts"],
  },
  {
    name: "a drift check that ended at once keeps its place for ever",
    file: "lib/drift/scheduled-checks.ts",
    from: `      const operation = await this.#parts.operations.store.find(operationId);
      // It may have ended before it was known here that it runs.
      if (operation?.status !== "queued" && operation?.status !== "running")
        this.#running.delete(operationId);
`,
    tests: ["test/drift/scheduled-checks.test.ts"],
  },
  {
    name: "an operator of a fleet folder may take their own rights away",
    file: "lib/fleet-folder/folder-plan.ts",
    from: `    if (kind === "operators" && (isReplaced || fields.has("role"))) this.#requireOther(thing, match);`,
    to: "    if (isReplaced) this.#requireOther(thing, match);",
    tests: ["test/fleet-folder/own-operator.test.ts"],
  },
  {
    name: "the data of a syslog message is measured without its escapes",
    file: "lib/notifications/senders/syslog.ts",
    from: 'const json = data === undefined ? "" : escape(jsonLine(data));\n  // Cut, it would be no JSON any more.\n  if (json !== "" && utf8Size(json) <= limits.data) written.push(`data="${json}"`);',
    to: 'const json = data === undefined ? "" : jsonLine(data);\n  // Cut, it would be no JSON any more.\n  if (json !== "" && utf8Size(json) <= limits.data) written.push(`data="${escape(json)}"`);',
    tests: ["test/notifications/senders/syslog.test.ts"],
  },
  {
    name: "the second who cancels a command is named in the place of the first",
    file: "lib/rollouts/transitions.ts",
    from: "return { rollout: { cancelled_by, ...rollout } };",
    to: "return { rollout: { ...rollout, cancelled_by } };",
    tests: ["test/runs/stopping-run.test.ts"],
  },
  {
    name: "the time beyond an old limit counts for the new one",
    file: "lib/thresholds/agent-pairs.ts",
    from: "continued(courseOf(before.get(key), threshold), threshold, { at: row.at, value, gapMs });",
    to: "continued(before.get(key)?.course ?? null, threshold, { at: row.at, value, gapMs });",
    tests: ["test/thresholds/alarms.test.ts"],
  },
  {
    name: "the second half of a character is sent alone",
    file: "lib/wire/session.ts",
    from: String.raw`/\\(?:ud[89a-f][0-9a-f]{2}|.)/g`,
    to: String.raw`/\\(?:ud[89ab][0-9a-f]{2}|.)/g`,
    tests: ["test/wire/session.test.ts"],
  },
  {
    name: "a connection through a proxy waits for its header for ever",
    file: "adapters/h3/proxied-connections.ts",
    from: `      waiting.delete(socket);
      if (source === undefined)`,
    to: "      if (source === undefined)",
    tests: ["test/adapters/h3/proxied-connections.test.ts"],
  },
  {
    name: "files of a fleet folder in capitals are passed over",
    file: "adapters/sync/read-folder.ts",
    from: String.raw`/\.ya?ml$/i.test(entry.name)`,
    to: String.raw`/\.ya?ml$/.test(entry.name)`,
    tests: ["test/adapters/sync/read-folder.test.ts"],
  },
  {
    name: "clocks far ahead of UTC change half a day too early",
    file: "lib/schedules/croner-cron.ts",
    from: "[offsetMs(zone, wallMs - dayMs), offsetMs(zone, wallMs + dayMs)]",
    to: "[offsetMs(zone, wallMs - dayMs / 2), offsetMs(zone, wallMs + dayMs / 2)]",
    tests: ["test/schedules/every-zone.test.ts"],
  },
  {
    name: "another revision alone is no change of an assignment",
    file: "lib/assignments/assignment-agreement.ts",
    from: `  const asked = ({ selector, modules, pins = {}, params = {} }: Assignment): string =>
    canonicalJson({ selector, modules, pins, params });`,
    to: `  const asked = ({ selector, modules, params = {} }: Assignment): string =>
    canonicalJson({ selector, modules, params });`,
    tests: ["test/assignments/changed-pins.test.ts"],
  },
  {
    name: "a forged announcement keeps those of the orchestrator out",
    file: "lib/agent/discovery/announcement-listener.ts",
    from: `    if (!isAnnouncementSigned(crypto, packet)) return "forged";
    this.#checks.signed(address);
    this.#newest.delete(key);
    this.#newest.set(key, at);
`,
    to: `    this.#newest.delete(key);
    this.#newest.set(key, at);
    if (!isAnnouncementSigned(crypto, packet)) return "forged";
    this.#checks.signed(address);
`,
    tests: ["test/agent/discovery/announcement-listener.test.ts"],
  },
  {
    name: "a server that listens on IPv4 alone tells agents an address of IPv6",
    file: "lib/discovery/announcements.ts",
    from: `    ({ address, family, isLinkLocal }) =>
      !isLinkLocal && (host === address || host === "::" || (host === "0.0.0.0" && family === 4)),`,
    to: `    ({ address, isLinkLocal }) =>
      !isLinkLocal && (host === address || host === "::" || host === "0.0.0.0"),`,
    tests: ["test/discovery/own-url.test.ts"],
  },
  {
    name: "completion asks the usual server whatever the line names",
    file: "adapters/cli/completion/place.ts",
    from: `      this.#keep(this.pending, word);
      this.pending = null;`,
    to: "      this.pending = null;",
    tests: ["test/adapters/cli/completion-names.test.ts"],
  },
  {
    name: "a time zone with a sign or a dash is refused",
    file: "lib/schedules/schedule.ts",
    from: String.raw`/^[A-Za-z][\w+/-]{0,63}$/`,
    to: String.raw`/^[A-Za-z][\w/]{0,63}$/`,
    tests: ["test/schedules/croner-cron.test.ts"],
  },
  {
    name: "a plan goes on through a link that a file took the place of",
    file: "lib/state/foreseen/foreseen-tree.ts",
    from: `node?.kind !== "file" || this.#linkAt(real) !== null`,
    to: `node?.kind !== "file"`,
    tests: ["test/state/foreseen/foreseen-host.test.ts"],
  },
  {
    name: "what a killed agent left of an extraction keeps every other from its work",
    file: "lib/state/resources/archive/stage.ts",
    from: `    this.#removeAll(folder);\n    this.#files`,
    to: `    this.#files`,
    tests: ["test/state/resources/archive/stage.test.ts"],
  },
  {
    name: "samples after a removal of all fall under it where a start has come between",
    file: "lib/storage/file/series/series-folder.ts",
    from: `    taken(trim.last);\n`,
    tests: ["test/storage/file/series/start.test.ts"],
  },
  {
    name: "an agent that is approved as it is to give way is forgotten",
    file: "lib/agents/pending-slots.ts",
    from: `agent?.value.status !== "pending"`,
    to: `!agent`,
    tests: ["test/agents/strangers.test.ts"],
  },
  {
    name: "that an event is missing is forgotten with the next call that fails as well",
    file: "lib/context.ts",
    from: `      this.#missing += missing;\n`,
    tests: ["test/event-feed/resume.test.ts"],
  },
  {
    name: "a path of Windows in an environment file has a line end for a backslash",
    file: "adapters/cli/env-file.ts",
    from: `  return inside.replaceAll(/\\\\(.)/g, (all, next: string) =>
    next === "n" ? "\\n" : '"\\\\$'.includes(next) ? next : all,
  );`,
    to: `  return inside.replaceAll("\\\\n", "\\n").replaceAll(/\\\\(["\\\\$])/g, "$1");`,
    tests: ["test/adapters/cli/env-file.test.ts"],
  },
  {
    name: "of samples that come late only the last minutes count, however long the duration",
    file: "lib/thresholds/sample-watcher.ts",
    from: `Math.max(0, ...seconds) * 1_000 - gapMs`,
    to: `Math.max(0, ...seconds) - gapMs`,
    tests: ["test/thresholds/sent-samples.test.ts"],
  },
  {
    name: "samples of the newest whole chunk are told although they were trimmed",
    file: "lib/storage/file/series/owner-series.ts",
    from: `trim.last >= chunk.last ? Math.max`,
    to: `trim.last > chunk.last ? Math.max`,
    tests: ["test/storage/file/series/start.test.ts"],
  },
  {
    name: "a program that can't be given all that was asked loses its capabilities as its owner is put back",
    file: "lib/host/dress-there.ts",
    from: `    if (now.uid !== before.uid || now.gid !== before.gid) fchownSync(fd, before.uid, before.gid);
    const lost = had ? giveExtras(fd, had, mode) : new Map();`,
    to: `    const lost = had ? giveExtras(fd, had, mode) : new Map();
    if (now.uid !== before.uid || now.gid !== before.gid) fchownSync(fd, before.uid, before.gid);`,
    tests: ["test/host/capabilities.test.ts"],
  },
];
