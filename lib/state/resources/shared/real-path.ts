import { hostError } from "../../../host/host-error.ts";
import type { HostFiles } from "../../../host/host.ts";

/** As many as the kernel follows. */
const maxLinks = 40;

/**
 * The same path with every link followed, the last one too. What does not exist yet is left as it is written.
 *
 * @throws {OrchestratorError} `HOST_ERROR` with errno ELOOP where links lead in a circle.
 */
export function realPath(path: string, { files }: { files: HostFiles }): string {
  // Refuses a way that somebody leads elsewhere.
  files.ledBy(path);
  let links = 0;
  let done = "";
  const rest = partsOf(path);
  for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
    if (part === "..") {
      done = done.slice(0, Math.max(0, done.lastIndexOf("/")));
      continue;
    }
    const next = `${done}/${part}`;
    if (files.stat(next)?.kind !== "symlink") {
      done = next;
      continue;
    }
    links += 1;
    if (links > maxLinks) throw hostError(path, "ELOOP");
    const target = files.readLink(next);
    if (target.startsWith("/")) done = "";
    rest.unshift(...partsOf(target));
  }
  return done === "" ? "/" : done;
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}
