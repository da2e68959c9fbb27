/** What resources of an operation that was cut off are about: as its run named them, else as the machine is now. */
import { describe, expect, test } from "vitest";
import { bootOf, changesOf, identitiesOf, resourcesOf } from "../../lib/agent/cut-operation.ts";
import type { JournalRecord } from "../../lib/agent/journal-record.ts";
import { ThingNames } from "../../lib/agent/thing-names.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import type { ResourceResult } from "../../lib/state/result.ts";
import { resource, uuid } from "../support/agent-commands.ts";

const operation_id = uuid(1);
const at = "2030-01-01T00:00:00.000Z";
const conf = resource({ id: "conf", type: "file", path: "/way/conf", content: "ours" });
const line = resource({ id: "line", type: "line", path: "/way/conf", line: "on" });
const script = resource({ id: "make", type: "script", run: "make", creates: "/way/made" });

function namesOf(
  resources: readonly ResolvedResource[],
  told: Record<string, string> = {},
  host = new MemoryHost(),
): ThingNames {
  return new ThingNames(resources, { host, types: resourceTypes }, new Map(Object.entries(told)));
}

/** A machine on which `/way` leads to a folder. */
function withWay(): MemoryHost {
  const host = new MemoryHost();
  host.files.makeDirectory("/now", { mode: 0o755 });
  host.files.makeSymlink("/way", "/now");
  return host;
}

describe("a thing is named", () => {
  test("as the run named it, wherever its path leads now", () => {
    const names = namesOf([conf], { "path:/way/conf": "path:/then/conf" }, withWay());
    expect(names.of(conf)).toBe("path:/then/conf");
    expect(names.ofResult(conf)).toBe("path:/then/conf");
  });

  test("as the machine is now where the run named it nowhere", () => {
    const names = namesOf([conf], {}, withWay());
    expect(names.of(conf)).toBe("path:/now/conf");
    expect(names.ofResult({ type: "file", identity: "/way/conf" })).toBe("path:/now/conf");
    expect(names.ofResult({ type: "file", identity: "/way/other" })).toBe("path:/way/other");
  });
});

describe("a resource has the path that it had while the run lasted", () => {
  const prior = (path: string) => ({ type: "file", spec: { path, ensure: "absent" } });

  test("where the run named its thing by another", () => {
    const names = namesOf([conf], { "path:/way/conf": "path:/then/conf" });
    const named = names.asNamed(conf);
    expect(named.resource).toEqual({
      ...conf,
      identity: "/then/conf",
      spec: { ...conf.spec, path: "/then/conf" },
    });
    expect(named.move(prior("/way/conf"))).toEqual(prior("/then/conf"));
    expect(named.move(prior("/other"))).toEqual(prior("/other"));
  });

  test("with what its name has behind the path", () => {
    const [text, told] = ["line:/way/conf: on", "line:/then/conf: on"];
    const named = namesOf([line], { [text]: told }).asNamed(line);
    expect(named.resource).toEqual({
      ...line,
      identity: "/then/conf: on",
      spec: { ...line.spec, path: "/then/conf" },
    });
  });

  test.each<[what: string, of: ResolvedResource, told: Record<string, string>]>([
    ["nothing was told of it", conf, {}],
    ["another was told of", conf, { "path:/way/other": "path:/then/other" }],
    ["it was named as it is", conf, { "path:/way/conf": "path:/way/conf" }],
    ["it has no path", script, { "script:web/make": "script:web/other" }],
    ["it was named as a thing of another kind", conf, { "path:/way/conf": "link:/then/conf" }],
    ["what is behind its path differs", line, { "line:/way/conf: on": "line:/then/conf: off" }],
    [
      "its name does not begin with its path",
      { ...conf, identity: "conf" },
      { "path:conf": "path:/then/conf" },
    ],
  ])("and stays as it is where %s", (_what, of, told) => {
    const named = namesOf([of], told).asNamed(of);
    expect(named.resource).toBe(of);
    const stood = prior("/way/conf");
    expect(named.move(stood)).toBe(stood);
  });
});

const accepted: JournalRecord = { record: "accepted", operation_id, kind: "apply", not_after: at, at };
const captured = (...resources: ResolvedResource[]): JournalRecord => ({
  record: "captured",
  resources: resources.map((each) => ({ resource: each, prior: null })),
});
const begun = (identity: string, more: object = {}): JournalRecord => ({
  record: "begun",
  identity,
  removal: false,
  ...more,
});
const untouched = (identity: string): JournalRecord => ({ record: "untouched", identity });
const result = (of: ResolvedResource, outcome: ResourceResult["outcome"] = "changed"): JournalRecord => {
  const { resource_id, module, type, identity } = of;
  const done = { action: "update", attempts: 1, duration_ms: 1 } as const;
  const named = { resource_id, module, type, identity };
  return { record: "result", result: { ...named, outcome, ...done, changes: [], caused_by: [] } };
};

describe("the journal of an operation that was cut off", () => {
  const path = "path:/way/conf";
  const states = (...records: JournalRecord[]): string[] =>
    changesOf({ operation_id, records }, namesOf([conf, script])).map(
      ({ identity, state, removal, captured: before, resource: wanted }) =>
        [identity, state, removal && "removal", before && "captured", wanted && "wanted"]
          .filter(Boolean)
          .join(" "),
    );

  test.each<[what: string, records: JournalRecord[], expected: string[]]>([
    ["nothing", [accepted], []],
    ["what was captured", [captured(conf)], [`${path} meant captured`]],
    ["what was captured and begun", [captured(conf), begun(path)], [`${path} begun captured`]],
    ["what was begun, as it was wanted", [begun(path, { resource: conf })], [`${path} begun wanted`]],
    ["what was to be removed", [begun(path, { removal: true })], [`${path} begun removal`]],
    ["what was changed to its end", [begun(path), result(conf)], [`${path} changed`]],
    ["what failed", [begun(path), result(conf, "failed")], [`${path} begun`]],
    ["what nothing came of", [begun(path), untouched(path)], [`${path} untouched`]],
    [
      "what nothing came of, and was told as done",
      [begun(path), untouched(path), result(conf)],
      [`${path} untouched`],
    ],
    ["what was never begun and told as done", [captured(conf), result(conf)], [`${path} meant captured`]],
    ["a result of what was never meant", [result(conf)], []],
    [
      "what was begun again once it was done",
      [begun(path), result(conf), begun(path, { removal: true })],
      [`${path} begun removal`],
    ],
    [
      "several things, in the order in which they were named",
      [captured(script, conf), begun(path), result(conf)],
      ["script:web/make meant captured", `${path} changed captured`],
    ],
  ])("tells %s", (_what, records, expected) => {
    expect(states(...records)).toEqual(expected);
  });

  test("tells by how a resource spells it what each thing was about", () => {
    const identities = (...records: JournalRecord[]): unknown =>
      Object.fromEntries(identitiesOf({ operation_id, records }, resourceTypes));
    expect(identities(accepted, begun("path:/a"), begun("path:/then/b", { spelled: "path:/way/b" }))).toEqual(
      {
        "path:/a": "path:/a",
        "path:/way/b": "path:/then/b",
      },
    );
    const both = { ...captured(conf, script), identities: ["path:/then/conf", "script:web/make"] };
    expect(identities(both as JournalRecord)).toEqual({
      "path:/way/conf": "path:/then/conf",
      "script:web/make": "script:web/make",
    });
    expect(identities(captured(conf))).toEqual({});
  });

  test("names its resources, captured or begun, and the start of the machine that it ran in", () => {
    const records = [accepted, captured(conf, script), begun("path:/a"), begun(path, { resource: line })];
    expect(resourcesOf({ operation_id, records })).toEqual([conf, script, line]);
    const started = (boot?: string): JournalRecord => ({
      record: "started",
      at,
      ...(boot !== undefined && { boot }),
    });
    expect(bootOf({ operation_id, records })).toBeNull();
    expect(bootOf({ operation_id, records: [accepted, started("b")] })).toBe("b");
    expect(bootOf({ operation_id, records: [accepted, started()] })).toBeNull();
  });
});
