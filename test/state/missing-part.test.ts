import { expect, test } from "vitest";
import { hostError } from "../../lib/host/host-error.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import { nameMissing } from "../../lib/state/run/missing-part.ts";

/** A machine where "/srv/gone" leads to what is not there, and "/srv/link" to a folder. */
function machine(): MemoryHost {
  const host = new MemoryHost();
  for (const folder of ["/srv", "/data"]) host.files.makeDirectory(folder, { mode: 0o755 });
  host.files.makeSymlink("/srv/gone", "../disk/site");
  host.files.makeSymlink("/srv/link", "/data");
  host.files.makeSymlink("/srv/again", "gone");
  return host;
}

test.each([
  ["/srv/site/a/b", "missing: /srv/site"],
  ["/srv/gone/a", "missing: /disk"],
  ["/srv/again/a", "missing: /disk"],
  ["/srv/link/a/b", "missing: /srv/link/a"],
])("what is missing for %s is what somebody has to make", (path, message) => {
  expect(nameMissing(hostError(path, "ENOENT"), machine())).toMatchObject({ code: "HOST_ERROR", message });
});
