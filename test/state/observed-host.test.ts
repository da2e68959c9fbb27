/** The host that one try of a resource gets passes on all that it is given, also below a folder. */
import { expect, test } from "vitest";
import { hostError } from "../../lib/host/host-error.ts";
import type { Host } from "../../lib/host/host.ts";
import { observe, Traces } from "../../lib/state/run/observed-host.ts";
import type { StateItem } from "../../lib/state/run/state-item.ts";
import type { StateRun } from "../../lib/state/run/state-run.ts";
import { declare } from "../support/state-fixture.ts";

type Call = readonly [name: string, ...given: unknown[]];

const [content, signal] = [new Uint8Array([1]), new AbortController().signal];
const stat = { kind: "file", mode: 0o644, uid: 1, gid: 2, sizeBytes: 1 };

const calls: Record<"files" | "backups", readonly Call[]> = {
  files: [
    ["stat", "/a"],
    ["readFile", "/a", stat],
    ["hashFile", "/a", signal],
    ["compareFile", "/a", content],
    ["readLink", "/a"],
    ["list", "/a"],
    ["ledBy", "/a"],
    ["extras", "/a"],
    ["requireChangeable", "/a", "write", { mode: 0o600 }],
    ["writeFile", "/a", content, { mode: 0o600, keepLinks: true }],
    ["makeDirectory", "/a", { mode: 0o700 }],
    ["makeSymlink", "/a", "/b", { uid: 1 }],
    ["move", "/a", "/b"],
    ["setAttributes", "/a", { mode: 0o600 }],
    ["removeFile", "/a"],
    ["removeDirectory", "/a"],
  ],
  backups: [
    ["save", "/a", { expected: stat, signal }],
    ["sizeBytes", "hash"],
    ["read", "hash"],
    ["restore", "hash", "/a", { mode: 0o600, signal }],
    ["prune", new Set(["hash"])],
  ],
};

/** Notes each call of each method, and of those below a folder where that is. */
function noting(noted: unknown[], where = ""): unknown {
  return new Proxy(
    {},
    {
      get:
        (_target, name) =>
        (...given: unknown[]) => {
          if (name === "below") return noting(noted, `${where}${String(given[0])}`);
          noted.push([where, name, ...given]);
          return `answer to ${String(name)}`;
        },
    },
  );
}

test.each(["files", "backups"] as const)("of its %s", (part) => {
  const noted: unknown[] = [];
  const [resource] = declare([{ type: "directory", path: "/a" }]);
  const item = { resource, target: null } as unknown as StateItem;
  const host = { users: {}, [part]: noting(noted) } as unknown as Host;
  const observed = observe(item, { host } as unknown as StateRun).host[part];
  const places = [
    ["", observed],
    ["/srv", observed.below("/srv")],
    ["/srv/www", observed.below("/srv").below("/www")],
  ] as const;
  for (const [where, those] of places)
    for (const [name, ...given] of calls[part]) {
      const method = (those as unknown as Record<string, (...all: unknown[]) => unknown>)[name]!;
      const answer = method.apply(those, given);
      expect(noted.pop()).toEqual([where, name, ...given]);
      expect(answer ?? `answer to ${name}`).toBe(`answer to ${name}`);
    }
  const known = new Set(["constructor", "below", ...calls[part].map(([name]) => name)]);
  expect(
    Object.getOwnPropertyNames(Object.getPrototypeOf(observed)).filter((name) => !known.has(name)),
  ).toEqual([]);
});

const changing = ["writeFile", "makeDirectory", "makeSymlink", "move", "setAttributes", "removeFile"];
const changes = new Set([...changing, "removeDirectory", "restore"]);

test.each(["", "/srv"])("below %j it notes each change, and nothing else", (folder) => {
  const [resource] = declare([{ type: "directory", path: "/a" }]);
  const item = { resource, target: null } as unknown as StateItem;
  for (const part of ["files", "backups"] as const)
    for (const [name, ...given] of calls[part]) {
      const host = { users: {}, files: noting([]), backups: noting([]) } as unknown as Host;
      const { host: observed, traces } = observe(item, { host } as unknown as StateRun);
      const those = folder === "" ? observed[part] : observed[part].below(folder);
      (those as unknown as Record<string, (...all: unknown[]) => unknown>)[name]!(...given);
      expect([name, traces.any]).toEqual([name, changes.has(name)]);
    }
});

test.each([
  ["in its folder", "/srv/draft", true],
  ["deep in it", "/srv/a/draft", true],
  ["beside it", "/draft", false],
  ["beside it, in a folder whose name begins alike", "/srv-2/draft", false],
])("a draft %s that can't be taken away again is a trace: %s is %s", (_, draft, isTrace) => {
  for (const isRefused of [false, true]) {
    const traces = new Traces(["/srv"]);
    traces.change(draft, () => undefined);
    const remove = (): void => {
      traces.remove(draft, () => {
        if (isRefused) throw hostError(draft, "EROFS");
      });
    };
    if (isRefused) expect(remove).toThrow(expect.objectContaining({ code: "HOST_ERROR" }));
    else remove();
    expect([isRefused, traces.any]).toEqual([isRefused, isRefused && isTrace]);
  }
});
