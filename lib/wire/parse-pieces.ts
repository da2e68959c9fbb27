/**
 * Parses a long text piece by piece. Each piece is made a JSON text of its own: what is open where it begins is opened again before it, what
 * is open where it ends is closed behind it, and the members of what comes out are put to those that are there. All of the grammar is
 * left to JSON.parse.
 */
import type { Work } from "../internal/work.ts";
import { openLevels, type OpenLevel, type TextCut } from "./text-cut.ts";

type List = unknown[];
type Members = Record<string, unknown>;

/** A list or object that the text is in, and the name of the member of an object that it is in; null where it is in none. */
interface Open extends OpenLevel {
  readonly value: List | Members;
  readonly name: string | null;
}

/** Stand in for the member that a piece goes on with, and for the one that follows it. Halves of surrogate pairs, which no text has that was scanned. */
const before = { name: "\ud800", text: '"\\ud800"' };
const after = { name: "\udc00", text: '"\\udc00"' };

/**
 * Parses a text that was scanned; stops after each piece. What comes out is what JSON.parse makes of the whole text.
 *
 * @param pieces.cuts - Those that the scan found, some or all.
 * @param pieces.decode - Reads UTF-8 or throws.
 * @throws {SyntaxError} Where the text is no JSON.
 */
export function* parsePieces(
  text: Uint8Array,
  { cuts, decode }: { cuts: readonly TextCut[]; decode: (bytes: Uint8Array) => string },
): Work<unknown> {
  let root: unknown;
  let from: TextCut | null = null;
  let open: Open[] = [];
  for (const to of [...cuts, null]) {
    const start = from === null ? 0 : from.at + (from.isInString ? 0 : 1);
    const levels: OpenLevel[] = to === null ? [] : openLevels(text, to);
    const piece = decode(text.subarray(start, to?.at));
    const parsed: unknown = JSON.parse(
      openings(open, from) + piece + (to === null ? "" : closings(levels, to)),
    );
    if (from === null) root = parsed;
    else putTo(open, parsed, from.isInString);
    if (to !== null) {
      open = follow(root, open, { levels, isInString: to.isInString, nameOf });
      if (!to.isInString) dropStand(open.at(-1)!.value);
    }
    from = to;
    yield;
  }
  return root;

  function nameOf({ memberAt, colonAt }: OpenLevel): string {
    const member = JSON.parse(`{${decode(text.subarray(memberAt, colonAt + 1))}0}`) as Members;
    return Object.keys(member)[0] ?? "";
  }
}

/** What opens again what is open where a piece begins. A comma before it is to be followed by a member. */
function openings(open: readonly OpenLevel[], from: TextCut | null): string {
  if (from === null) return "";
  const text = open.map(({ isList }) => (isList ? "[" : `{${before.text}:`)).join("");
  return text + (from.isInString ? '"' : "0,");
}

/** What closes what is open where a piece ends. A comma after it is to follow a member. */
function closings(levels: readonly OpenLevel[], to: TextCut): string {
  const end = to.isInString ? '"' : levels.at(-1)!.isList ? ",0" : `,${after.text}:0`;
  return (
    end +
    levels
      .map(({ isList }) => (isList ? "]" : "}"))
      .reverse()
      .join("")
  );
}

/** Puts the members of a parsed piece to those of what was open where it began. */
function putTo(open: readonly Open[], parsed: unknown, isInString: boolean): void {
  let part = parsed;
  open.forEach(({ value, name }, level) => {
    const first = isListValue(part) ? part[0] : (part as Members)[before.name];
    const goesOn = isInString && level === open.length - 1;
    if (isListValue(value)) {
      if (goesOn) value[value.length - 1] = `${value.at(-1) as string}${first as string}`;
      const members = part as List;
      for (let index = 1; index < members.length; index += 1) value.push(members[index]);
    } else {
      if (goesOn && name !== null) setMember(value, name, `${value[name] as string}${first as string}`);
      for (const [key, member] of Object.entries(part as Members))
        if (key !== before.name && key !== after.name) setMember(value, key, member);
    }
    part = first;
  });
}

/** What is open at the next cut, from what was open at the one before. */
function follow(
  root: unknown,
  earlier: readonly Open[],
  to: { levels: readonly OpenLevel[]; isInString: boolean; nameOf(level: OpenLevel): string },
): Open[] {
  const open: Open[] = [];
  let value = root as List | Members;
  let isSame = true;
  for (const [index, level] of to.levels.entries()) {
    const known = earlier[index];
    isSame &&= known?.openedAt === level.openedAt;
    const isIn = index < to.levels.length - 1 || to.isInString;
    const hasName = isIn && !level.isList;
    const knownName = isSame && known?.memberAt === level.memberAt ? known.name : null;
    const name = hasName ? (knownName ?? to.nameOf(level)) : null;
    if (isSame && known) ({ value } = known);
    open.push({ ...level, value, name });
    value = (isListValue(value) ? value.at(-1) : value[name ?? ""]) as List | Members;
  }
  return open;
}

function dropStand(value: List | Members): void {
  if (isListValue(value)) value.pop();
  else delete value[after.name];
}

function isListValue(value: unknown): value is List {
  return Array.isArray(value);
}

/** As the parser does it: whatever the name is, it names a member. */
function setMember(members: Members, name: string, value: unknown): void {
  if (name !== "__proto__") members[name] = value;
  else Object.defineProperty(members, name, { value, writable: true, enumerable: true, configurable: true });
}
