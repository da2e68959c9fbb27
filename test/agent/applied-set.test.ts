import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AppliedSet } from "../../lib/agent/applied-set.ts";
import type { Prior } from "../../lib/state/resource-type.ts";
import type { AppliedResource } from "../../lib/state/run/applied-resource.ts";
import { resource } from "../support/agent-commands.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const absent: Prior = { type: "file", spec: { path: "/a", ensure: "absent" } };

describe("AppliedSet", () => {
  it("comes back as it was noted", () => {
    const folder = temporaryFolder();
    const entries = [applied("/b", null), applied("/a", absent)];
    new AppliedSet(folder).replace(entries);
    expect(new AppliedSet(folder).resources).toEqual(entries);
  });

  it.each(["", "{}", '{"version":1,"resources":[{}]}', '{"version":2,"resources":[]}'])(
    "refuses the damaged file %j rather than forget",
    (text) => {
      const folder = temporaryFolder();
      const path = join(folder, "applied.json");
      writeFileSync(path, text);
      expect(() => new AppliedSet(folder)).toThrow(expect.objectContaining({ code: "STORAGE_CORRUPT" }));
      expect(readFileSync(path, "utf8")).toBe(text);
    },
  );
});

function applied(path: string, prior: Prior | null): AppliedResource {
  return { resource: resource({ type: "file", path, content: path }), prior };
}
