/** Archives, debs and rpms: the same content makes the same bytes, whoever packs it and when. */
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Architecture } from "./node.ts";
import { run } from "./tools.ts";

/** The time that packers write where they would write theirs. To rpm, 0 is none. */
const noTime = { SOURCE_DATE_EPOCH: "1" };

/** What both kinds of packages are made of. */
export interface PackageParts {
  version: string;
  architecture: Architecture;
  /** Folder with everything where it belongs on a machine. It is removed when it is packed. */
  root: string;
  /** Folder for the package. */
  target: string;
}

/** What a deb has beside that. */
export interface DebParts extends PackageParts {
  name: string;
  /** The lines of `control` that are its own: `Depends`, `Description` and so on. */
  control: string;
  /** Paths on the machine. */
  conffiles: readonly string[];
  /** Folder of its scripts; `@VERSION@` in them is the version. */
  scripts: string;
}

/** What an rpm has beside that. */
export interface RpmParts extends PackageParts {
  /** The spec; `@VERSION@`, `@PACKAGE_VERSION@` and `@ROOT@` in it are filled in. */
  spec: string;
  /** Folder for what is made on the way. */
  cache: string;
}

/** Packs a folder. */
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

/** Makes a deb; answers with its path. */
export function packDeb(parts: DebParts): string {
  const { name, version, architecture, root, target } = parts;
  const known = architecture === "x64" ? "amd64" : "arm64";
  const control = join(root, "DEBIAN");
  const kilobytes = run("du", ["-sk", "--apparent-size", root]).split("\t")[0] ?? "";
  mkdirSync(control);
  writeFileSync(
    join(control, "control"),
    `Package: ${name}
Version: ${packageVersionOf(version)}
Architecture: ${known}
Maintainer: The Fleetwright contributors <noreply@fleetwright.invalid>
Installed-Size: ${kilobytes}
Section: admin
Priority: optional
${parts.control}`,
  );
  writeFileSync(join(control, "conffiles"), parts.conffiles.map((path) => `${path}\n`).join(""));
  for (const script of readdirSync(parts.scripts)) {
    const text = readFileSync(join(parts.scripts, script), "utf8").replaceAll("@VERSION@", version);
    writeFileSync(join(control, script), text, { mode: 0o755 });
  }
  const path = join(target, `${name}_${packageVersionOf(version)}_${known}.deb`);
  run("dpkg-deb", ["--build", "--root-owner-group", "-Zgzip", "-z6", root, path], { variables: noTime });
  rmSync(root, { recursive: true });
  return path;
}

/** Makes an rpm; answers with its path. */
export function packRpm({ version, architecture, root, target, spec, cache }: RpmParts): string {
  const known = architecture === "x64" ? "x86_64" : "aarch64";
  const top = join(cache, "rpm");
  const filled = join(cache, basename(spec));
  const text = readFileSync(spec, "utf8")
    .replaceAll("@VERSION@", version)
    .replaceAll("@PACKAGE_VERSION@", packageVersionOf(version))
    .replaceAll("@ROOT@", root);
  writeFileSync(filled, text);
  const defined = {
    _topdir: top,
    _rpmdir: target,
    _binary_payload: "w6.gzdio",
    _rpmfilename: "%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm",
    _buildhost: "localhost",
    use_source_date_epoch_as_buildtime: "1",
    clamp_mtime_to_source_date_epoch: "1",
  };
  const defines = Object.entries(defined).flatMap(([name, value]) => ["--define", `${name} ${value}`]);
  run("rpmbuild", ["-bb", "--quiet", "--target", `${known}-linux`, ...defines, filled], {
    variables: noTime,
  });
  for (const left of [root, top]) rmSync(left, { recursive: true, force: true });
  return join(target, `${basename(spec, ".spec")}-${packageVersionOf(version)}-1.${known}.rpm`);
}
