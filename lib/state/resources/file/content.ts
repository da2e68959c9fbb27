/** The content of a file resource: as bytes, and as a change to show. */
import type { FileStat, Host } from "../../../host/host.ts";
import { andThen, type MaybeWaiting } from "../../../internal/maybe-waiting.ts";
import type { Change } from "../../result.ts";
import { diffText } from "../../text-diff.ts";
import type { Machine } from "../shared/command.ts";

/** The ways to say a content. */
export interface ContentProperties {
  path: string;
  content?: string | undefined;
  content_base64?: string | undefined;
  content_backup?: string | undefined;
  sha256?: string | undefined;
}

/** Larger files are named by their hash alone. */
const diffLimitBytes = 262_144;

/** The declared content, where the declaration itself holds it. */
export function desiredContent(spec: ContentProperties): Uint8Array | null {
  if (spec.content !== undefined) return Buffer.from(spec.content, "utf8");
  if (spec.content_base64 !== undefined) return Buffer.from(spec.content_base64, "base64");
  return null;
}

/** Holds one declared content while it is compared: a check of thousands of files makes no garbage. */
const scratch = Buffer.allocUnsafeSlow(65_536);

/** The declared content as {@link desiredContent} gives it, but good only until the next call. */
export function contentToCompare(spec: ContentProperties): Uint8Array | null {
  const { content } = spec;
  // A character takes at most three bytes of UTF-8 for each of its units.
  if (content === undefined || content.length * 3 > scratch.length) return desiredContent(spec);
  return scratch.subarray(0, scratch.write(content, "utf8"));
}

/** What was said last of a spec: an apply looks again right before it writes, and to compare texts takes long. */
const described = new WeakMap<ContentProperties, Change>();

/** Forgets what was said of a spec that is in place now: it lives for as long as it is applied. */
export function forgetDescription(spec: ContentProperties): void {
  described.delete(spec);
}

/** The change of a content: hashes and sizes, and a diff where both sides are text. */
export function describeContent(
  spec: ContentProperties,
  stat: FileStat | null,
  { host, signal }: Machine,
): MaybeWaiting<Change> {
  return andThen(stat && host.files.hashFile(spec.path, signal), (digest) => {
    const before = digest && printDigest(digest.sha256, digest.sizeBytes);
    const known = described.get(spec);
    if (known?.before === before) return known;
    const change = compareContents(spec, { stat, before }, host);
    // A copy of an old file is the host's own and may be gone.
    if (spec.content_backup === undefined) described.set(spec, change);
    return change;
  });
}

function compareContents(
  spec: ContentProperties,
  { stat, before }: { stat: FileStat | null; before: string | null },
  host: Host,
): Change {
  const declared = desiredContent(spec);
  const change: Change = {
    property: "content",
    before,
    after: declared ? printDigest(host.sha256(declared), declared.length) : printKnown(spec, host),
  };
  const content = declared ?? keptContent(spec, host);
  if (!content || content.length > diffLimitBytes || (stat && stat.sizeBytes > diffLimitBytes)) return change;
  const diff = diffText(spec.path, stat ? host.files.readFile(spec.path) : new Uint8Array(), content);
  return diff === null ? change : { ...change, diff };
}

/** The content that comes back, where it is small enough to show. */
function keptContent({ content_backup }: ContentProperties, { backups }: Host): Uint8Array | null {
  if (content_backup === undefined) return null;
  const sizeBytes = backups.sizeBytes(content_backup);
  return sizeBytes === null || sizeBytes > diffLimitBytes ? null : backups.read(content_backup);
}

/** A content that is known by its hash alone; the size of one to download is not known before. */
function printKnown({ content_backup = "", sha256 }: ContentProperties, host: Host): string {
  if (sha256 !== undefined) return `sha256:${sha256}`;
  return printDigest(content_backup, host.backups.sizeBytes(content_backup) ?? 0);
}

function printDigest(sha256: string, sizeBytes: number): string {
  return `sha256:${sha256} (${sizeBytes} bytes)`;
}
