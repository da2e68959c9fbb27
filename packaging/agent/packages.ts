/** The agent's deb and rpm: the folder of a version, laid out as it stands on a machine. */
import { chmodSync, copyFileSync, cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Architecture } from "../node.ts";
import { packDeb, packRpm } from "../packages.ts";
import { run } from "../tools.ts";
import { files, type BuildParts } from "./version-folder.ts";

const home = "opt/fleetwright-agent";

const control = `Depends: init-system-helpers (>= 1.54), libc6 (>= 2.28), libstdc++6
Description: Agent of a Fleetwright server
 Runs on each machine of a fleet, and makes it what its Fleetwright server says.
`;

/** Makes the deb of a version. */
export function packAgentDeb(folder: string, architecture: Architecture, parts: BuildParts): string {
  const root = layOut(folder, "deb", parts);
  place(join(folder, "fleetwright-agent.sysvinit"), join(root, "etc/init.d/fleetwright-agent"), 0o755);
  const conffiles = ["/etc/init.d/fleetwright-agent"];
  const scripts = join(files, "deb");
  return packDeb({ ...parts, name: "fleetwright-agent", architecture, root, control, conffiles, scripts });
}

/** Makes the rpm of a version. */
export function packAgentRpm(folder: string, architecture: Architecture, parts: BuildParts): string {
  const root = layOut(folder, "rpm", parts);
  return packRpm({ ...parts, architecture, root, spec: join(files, "fleetwright-agent.spec") });
}

/** A root folder with everything where it belongs on a machine; `current` is made there. */
function layOut(folder: string, kind: "deb" | "rpm", { version, cache }: BuildParts): string {
  const root = join(cache, `${kind}-root`);
  rmSync(root, { recursive: true, force: true });
  const own = join(root, home, version);
  mkdirSync(dirname(own), { recursive: true });
  cpSync(folder, own, { recursive: true });
  // That is what this package is for.
  rmSync(join(own, "uninstall"));
  writeFileSync(join(root, home, "package"), `${kind}\n`);
  place(
    join(own, "fleetwright-agent.service"),
    join(root, "usr/lib/systemd/system/fleetwright-agent.service"),
    0o644,
  );
  mkdirSync(join(root, "usr/bin"), { recursive: true });
  symlinkSync(`/${home}/current/fleetwright-agent`, join(root, "usr/bin/fleetwright-agent"));
  mkdirSync(join(root, "etc/fleetwright-agent"), { recursive: true });
  run("chmod", ["-R", "u+rwX,go+rX,go-w", root]);
  return root;
}

function place(from: string, to: string, mode: number): void {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
  chmodSync(to, mode);
}
