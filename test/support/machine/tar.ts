import type { HostCommand, HostCommandResult, HostFiles } from "../../../lib/host/host.ts";

/** What a model archive holds. A target makes an entry a link, no content makes it a folder. */
export interface ModelEntry {
  name: string;
  content?: string;
  target?: string;
}

/** An archive that {@link modelTar} understands. */
export function modelArchive(entries: readonly ModelEntry[]): Buffer {
  return Buffer.from(JSON.stringify(entries));
}

/** `tar` for model archives: lists as GNU tar does, and extracts. */
export function modelTar({ argv }: HostCommand, files: HostFiles): Partial<HostCommandResult> {
  const option = (name: string): string =>
    argv.find((each) => each.startsWith(name))?.slice(name.length) ?? "";
  const archive = Buffer.from(files.readFile(option("--file=")));
  const entries = JSON.parse(archive.toString()) as ModelEntry[];
  if (argv.includes("--list")) {
    const stderr = `Total bytes read: ${archive.length} (1KiB, 1MiB/s)\n`;
    return { stdout: entries.map((entry) => `${lineOf(entry)}\n`).join(""), stderr };
  }
  const strip = Number(option("--strip-components="));
  for (const entry of entries) {
    const name = entry.name.split("/").slice(strip).join("/").replace(/\/$/, "");
    const path = `${option("--directory=")}/${name}`;
    if (entry.target !== undefined) files.makeSymlink(path, entry.target);
    else if (entry.content !== undefined) files.writeFile(path, Buffer.from(entry.content), { mode: 0o644 });
    else if (name !== "" && !files.stat(path)) files.makeDirectory(path, { mode: 0o755 });
  }
  return {};
}

function lineOf({ name, content, target }: ModelEntry): string {
  const type = target === undefined ? (content === undefined ? "d" : "-") : "l";
  const link = target === undefined ? "" : ` -> ${target}`;
  const permissions = type === "d" ? "rwxr-xr-x" : "rw-r--r--";
  return `${type}${permissions} 0/0 ${content?.length ?? 0} 2026-01-01 00:00:00 ${name}${link}`;
}
