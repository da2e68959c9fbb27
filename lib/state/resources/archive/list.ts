/** What an archive would put into a folder, read from the list that its program gives, and refused where it is not safe. */
import { OrchestratorError } from "../../../errors.ts";
import { startOf } from "../../../internal/canonical-json.ts";

/** One thing in an archive, named from the folder it is extracted into. */
export interface ListedEntry {
  name: string;
  kind: "file" | "folder" | "link";
  /** Permission bits without those for set-id and sticky; null where the archive does not say. */
  mode: number | null;
  /** Bytes, as the archive says. */
  size: number;
  /** Whether its program, or the file system, may make something else of it than the list says. */
  isDoubtful?: true;
}

interface RawEntry {
  type: string;
  permissions: string;
  size: number;
  name: string;
  /** Where a link points, as it is stored. */
  target: string | null;
  isDoubtful?: boolean;
}

const tarLine = /^(.)(\S+) \S+ +(\d+)(?:,\d+)? \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? (.*)$/;

/** Reads what `tar --list --verbose --full-time --quoting-style=escape` writes. `HOST_ERROR` for what is not safe. */
export function readTarList(list: string, strip: number): ListedEntry[] {
  const raw = linesOf(list).map((line): RawEntry => {
    const [, type = "", permissions = "", size = "0", rest = ""] = tarLine.exec(line) ?? [];
    const separator = type === "l" ? " -> " : type === "h" ? " link to " : null;
    const [name = "", target = null, more] = separator === null ? [rest] : rest.split(separator);
    if (more !== undefined || (separator !== null && target === null))
      throw unsafe(rest, "is a link that can't be told from its target");
    const from = { name: unescape(name), target: target === null ? null : unescape(target) };
    return { type, permissions, size: Number(size), ...from };
  });
  return toEntries(raw, strip);
}

const zipLine = /^(\S+) +\d+\.\d+ +(\S+) +(\d+) \S+ +\S+ +\S+ +\S+ (.*)$/;

/** Reads what `unzip -Z -s` writes. `HOST_ERROR` for what is not safe. */
export function readZipList(list: string): ListedEntry[] {
  const raw = linesOf(list).map((line): RawEntry => {
    const [, mode = "", system = "", size = "0", name = ""] = zipLine.exec(line) ?? [];
    if (mode.startsWith("l")) throw unsafe(name, "is a link, which a zip archive may not hold");
    // It is extracted with slashes in their place, unless it has one already.
    if (system === "fat" && name.includes("\\") && !name.includes("/")) throw unsafe(name, "has backslashes");
    const type = name.endsWith("/") ? "d" : (mode[0] ?? "");
    // A control character is listed as "^A", and a link may be listed as something of which nobody knows what it is.
    const isDoubtful = /[?^\uFFFD]/.test(name) || (mode.startsWith("?") && system !== "fat");
    return { type, permissions: mode.slice(1), size: Number(size), name, target: null, isDoubtful };
  });
  return toEntries(raw, 0);
}

function linesOf(list: string): string[] {
  return list.split("\n").filter((line) => line !== "");
}

const kinds: Readonly<Record<string, ListedEntry["kind"]>> = {
  "-": "file",
  "?": "file",
  h: "file",
  d: "folder",
  l: "link",
};

function toEntries(raw: readonly RawEntry[], strip: number): ListedEntry[] {
  const entries = new Map<string, ListedEntry>();
  for (const { type, permissions, size, name, target, isDoubtful } of raw) {
    const kind = kinds[type];
    if (kind === undefined) throw unsafe(name, "is neither file, folder nor link");
    const parts = partsOf(name, strip);
    const place = parts.join("/");
    if (kind === "link") refuseOutside(name, parts.length - 1, target ?? "");
    if (type === "h" && entries.get(partsOf(target ?? "", strip).join("/"))?.kind !== "file")
      throw unsafe(name, "is a hard link to something that is not in the archive");
    if (place === "") continue;
    const earlier = entries.get(place);
    // The one that the program meets first stands while it extracts what is listed between them.
    if (earlier && (earlier.kind === "folder") !== (kind === "folder"))
      throw unsafe(name, "is a folder, and none");
    const doubt = (isDoubtful || earlier?.isDoubtful) && { isDoubtful: true as const };
    entries.set(place, { name: place, kind, mode: modeOf(permissions), size, ...doubt });
  }
  const listed = [...entries.values()];
  const below = findBelow(listed, (name) => name);
  if (below) throw unsafe(below.name, "is below something that is no folder");
  // For some file systems names are one that differ in case or in how a letter is put together.
  const led = findBelow(listed, (name) => name.normalize("NFD").toUpperCase());
  if (led) led.isDoubtful = true;
  return listed;
}

/** Finds something below a link or a file, however deep and in whatever order. */
function findBelow(
  entries: readonly ListedEntry[],
  spell: (name: string) => string,
): ListedEntry | undefined {
  // With the lowest character in the place of the slash, what is below a name follows it at once.
  const spelled = entries.map((entry) => ({ entry, key: spell(entry.name).replaceAll("/", "\0") }));
  let above: string | null = null;
  for (const { entry, key } of spelled.toSorted((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)))) {
    if (above !== null && key.startsWith(above)) return entry;
    if (entry.kind !== "folder") above = `${key}\0`;
  }
  return undefined;
}

/** From "rwxr-x---"; an archive of a system without such bits has fewer letters. */
function modeOf(permissions: string): number | null {
  const [letters] = /^(?:[r-][w-][xsStT-]){3}/.exec(permissions) ?? [];
  if (letters === undefined) return null;
  return [...letters].reduce((mode, letter) => mode * 2 + (/[rwxst]/.test(letter) ? 1 : 0), 0);
}

/** The parts of a name that are left after stripping. */
function partsOf(name: string, strip: number): string[] {
  const parts = name.split(/\/+/);
  if (parts.at(-1) === "") parts.pop();
  if (name.startsWith("/")) throw unsafe(name, "is an absolute path");
  if (parts.includes("..")) throw unsafe(name, "leads out of the folder");
  return parts.slice(strip).filter((part) => part !== ".");
}

/** A link may go up at its beginning only: after another link, up may be anywhere. */
function refuseOutside(name: string, depth: number, target: string): void {
  if (target.startsWith("/")) throw unsafe(name, "is a link to an absolute path");
  const parts = target.split("/").filter((part) => part !== "" && part !== ".");
  const ups = parts.findIndex((part) => part !== "..");
  const leading = ups === -1 ? parts.length : ups;
  if (leading > depth || parts.slice(leading).includes(".."))
    throw unsafe(name, "is a link out of the folder");
}

/** Takes back what GNU tar's style "escape" did, byte by byte. */
function unescape(text: string): string {
  const bytes = Buffer.from(
    text.replace(/\\([0-7]{3}|.)/g, (_all, code: string) =>
      code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8)) : (controls[code] ?? code),
    ),
    "latin1",
  );
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw unsafe(text, "is no UTF-8");
  }
}

const controls: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

function unsafe(name: string, why: string): OrchestratorError {
  const message = `The archive is refused: ${JSON.stringify(startOf(name, 200)).slice(1, -1)} ${why}.`;
  return new OrchestratorError("HOST_ERROR", { message, details: { entry: startOf(name, 200) } });
}
