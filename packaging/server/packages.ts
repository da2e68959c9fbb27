/** The server's deb and rpm: the program's folder, laid out on a machine with its unit, its settings and completions. */
import { chmodSync, copyFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Architecture } from "../node.ts";
import { packDeb, packRpm } from "../packages.ts";
import { repository, run } from "../tools.ts";
import type { BuildParts } from "./program-folder.ts";

/** Files of this folder that packages have. */
export const files = join(import.meta.dirname, "files");

const control = `Depends: init-system-helpers (>= 1.54), libc6 (>= 2.28), libstdc++6, passwd
Description: Fleetwright server and command line
 Says what the machines of a fleet are, and has their agents make them so.
 With the command line for its operators.
`;

/** Where each shell looks for completions that packages bring. */
const completionsOf = (zshFolder: string): Record<string, string> => ({
  bash: "usr/share/bash-completion/completions/fleetwright",
  zsh: `usr/share/zsh/${zshFolder}/_fleetwright`,
  fish: "usr/share/fish/vendor_completions.d/fleetwright.fish",
});

/** Makes the deb of a program's folder. */
export function packServerDeb(folder: string, architecture: Architecture, parts: BuildParts): string {
  const root = layOut(folder, join(parts.cache, "deb-root"), completionsOf("vendor-completions"));
  const conffiles = ["/etc/fleetwright/environment"];
  const scripts = join(files, "deb");
  return packDeb({ ...parts, name: "fleetwright-server", architecture, root, control, conffiles, scripts });
}

/** Makes the rpm of a program's folder. */
export function packServerRpm(folder: string, architecture: Architecture, parts: BuildParts): string {
  const root = layOut(folder, join(parts.cache, "rpm-root"), completionsOf("site-functions"));
  mkdirSync(join(root, "var/lib/fleetwright"), { recursive: true });
  return packRpm({ ...parts, architecture, root, spec: join(files, "fleetwright-server.spec") });
}

/** Lays everything out where it belongs on a machine; answers with the root folder. */
function layOut(folder: string, root: string, completions: Record<string, string>): string {
  rmSync(root, { recursive: true, force: true });
  const own = join(root, "usr/lib/fleetwright");
  mkdirSync(dirname(own), { recursive: true });
  cpSync(folder, own, { recursive: true });
  const place = (from: string, to: string, mode: number): void => {
    mkdirSync(dirname(join(root, to)), { recursive: true });
    copyFileSync(from, join(root, to));
    chmodSync(join(root, to), mode);
  };
  place(join(files, "launcher"), "usr/bin/fleetwright", 0o755);
  place(join(files, "fleetwright.service"), "usr/lib/systemd/system/fleetwright.service", 0o644);
  for (const licence of ["LICENSE-MIT", "LICENSE-APACHE", "LICENSE-NODE"])
    place(join(folder, licence), `usr/share/doc/fleetwright-server/${licence}`, 0o644);
  const main = join(repository, "dist/program/main.js");
  run(process.execPath, [main, "man", "--write", join(root, "usr/share/man/man1")]);
  for (const [shell, path] of Object.entries(completions)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), run(process.execPath, [main, "completion", shell]));
  }
  // Whoever built it may have had another umask.
  run("chmod", ["-R", "u+rwX,go+rX,go-w", root]);
  chmodSync(join(own, "bin/node"), 0o755);
  place(join(files, "environment"), "etc/fleetwright/environment", 0o640);
  chmodSync(join(root, "etc/fleetwright"), 0o750);
  return root;
}
