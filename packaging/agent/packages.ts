/** The artifacts: an archive, a deb and an rpm of a version's folder. */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { Architecture } from "./natives.ts";
import { run } from "./tools.ts";
import { files, type BuildParts } from "./version-folder.ts";

const home = "opt/fleetwright-agent";

/** Packs a folder; the same content makes the same bytes. */
export function packArchive(folder: string, target: string): void {
  const tar = `${target}.tar`;
  // Nobody's umask, name or clock is in it.
  const same = [
    "--sort=name",
    "--mtime=@0",
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--mode=u+rw,go+r,go-w,a+X",
  ];
  run("tar", [...same, "-cf", tar, "-C", folder, "."]);
  run("gzip", ["-6", "-n", "-f", tar]);
  renameSync(`${tar}.gz`, target);
}

/** A version as package managers order them: `1.2.0-beta.1` comes before `1.2.0`, which is `1.2.0~beta.1` to both of them. */
export function packageVersionOf(version: string): string {
  return version.replaceAll("-", "~");
}

/** Makes the deb of a version. */
export function packDeb(folder: string, architecture: Architecture, parts: BuildParts): string {
  const root = layOut(folder, "deb", parts);
  place(join(folder, "fleetwright-agent.sysvinit"), join(root, "etc/init.d/fleetwright-agent"), 0o755);
  const known = architecture === "x64" ? "amd64" : "arm64";
  const control = join(root, "DEBIAN");
  mkdirSync(control);
  const kilobytes = run("du", ["-sk", root]).split("\t")[0] ?? "";
  writeFileSync(
    join(control, "control"),
    `Package: fleetwright-agent
Version: ${packageVersionOf(parts.version)}
Architecture: ${known}
Maintainer: The Fleetwright contributors <noreply@fleetwright.invalid>
Installed-Size: ${kilobytes}
Depends: init-system-helpers (>= 1.54), libc6 (>= 2.28), libstdc++6
Section: admin
Priority: optional
Description: Agent of a Fleetwright server
 Runs on each machine of a fleet, and makes it what its Fleetwright server says.
`,
  );
  writeFileSync(join(control, "conffiles"), "/etc/init.d/fleetwright-agent\n");
  for (const script of ["preinst", "postinst", "prerm", "postrm"]) {
    const text = readFileSync(join(files, "deb", script), "utf8").replaceAll("@VERSION@", parts.version);
    writeFileSync(join(control, script), text, { mode: 0o755 });
  }
  const target = join(parts.target, `fleetwright-agent_${packageVersionOf(parts.version)}_${known}.deb`);
  run("dpkg-deb", ["--build", "--root-owner-group", "-Zgzip", "-z6", root, target]);
  rmSync(root, { recursive: true });
  return target;
}

/** Makes the rpm of a version. */
export function packRpm(folder: string, architecture: Architecture, parts: BuildParts): string {
  const root = layOut(folder, "rpm", parts);
  const known = architecture === "x64" ? "x86_64" : "aarch64";
  const top = join(parts.cache, "rpm");
  const spec = join(parts.cache, "fleetwright-agent.spec");
  const text = readFileSync(join(files, "fleetwright-agent.spec"), "utf8")
    .replaceAll("@VERSION@", parts.version)
    .replaceAll("@PACKAGE_VERSION@", packageVersionOf(parts.version))
    .replaceAll("@ROOT@", root);
  writeFileSync(spec, text);
  const defined = {
    _topdir: top,
    _rpmdir: parts.target,
    _binary_payload: "w6.gzdio",
    _rpmfilename: "%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm",
  };
  const defines = Object.entries(defined).flatMap(([name, value]) => ["--define", `${name} ${value}`]);
  run("rpmbuild", ["-bb", "--quiet", "--target", `${known}-linux`, ...defines, spec]);
  for (const left of [root, top]) rmSync(left, { recursive: true, force: true });
  return join(parts.target, `fleetwright-agent-${packageVersionOf(parts.version)}-1.${known}.rpm`);
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
