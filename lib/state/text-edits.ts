/**
 * Texts that several resources are about, such as a file and a line of it. Where one undoes what another makes, each apply would
 * change both again, for ever: they fight, and can't be on one machine.
 */
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { type WorkBudget, WorkExceeded } from "../internal/work.ts";
import { decodeText } from "./text-diff.ts";

/** What a resource makes of a text of the machine. */
export interface TextEdit {
  /** The text: the path of a file, or a name of its own. */
  readonly of: string;
  /** Whether all of the text is the resource's, so that nothing of others stays in it. Default: a part. */
  readonly isWhole?: boolean;
  /**
   * Whether something else than a file is to stand there, such as a folder: whoever is about the text contradicts that, who wants
   * nothing in it, too. Default: no.
   */
  readonly isNoFile?: boolean;
  /**
   * The text as the resource leaves it, which is the same text where `check` finds nothing to do. Null = there is no file. Null in
   * its place: nobody knows the text before it is on the machine.
   *
   * @throws OrchestratorError where the resource can't be in such a text.
   */
  readonly edit: ((text: string | null) => string | null) | null;
  /** Whether it takes any text that is there, and makes one only where there is none. Default: no. */
  readonly takesAny?: boolean;
  /** Whether what it makes of a text is one line of it at most, wherever that stands. Default: no. */
  readonly isOneLine?: boolean;
  /** What an edit of a text costs, in steps, of which one takes about 10 ns. Default: eight for each character, which is taken apart into fields. */
  cost?(text: string): number;
}

/** The edit of a resource by which a file holds this and nothing else; null = there is no file. */
export function wholeText(path: string, content: string | Uint8Array | null): TextEdit {
  let known: string | null = null;
  return {
    of: path,
    isWhole: true,
    edit() {
      if (content === null) return null;
      known ??= decodeText(typeof content === "string" ? Buffer.from(content) : content);
      if (known !== null) return known;
      // What is no text has no lines that others could own.
      throw new OrchestratorError("HOST_ERROR", { message: `${path} is not UTF-8 text.`, details: { path } });
    },
    cost: () => content?.length ?? 0,
  };
}

/** The edit of a resource by which something that is no file stands at a path, or nothing. */
export function noText(path: string, ensure: "present" | "absent"): TextEdit {
  const nothing = wholeText(path, null);
  return ensure === "absent" ? nothing : { ...nothing, isNoFile: true };
}

const modePrefix = "the mode of ";

/** The edits of a resource by which a path gets a mode; none where it says nothing of it. */
export function modeEdit(path: string, mode: string | undefined): TextEdit[] {
  if (mode === undefined) return [];
  const after = mode.padStart(4, "0");
  return [{ of: modePrefix + path, edit: () => after, cost: () => 0 }];
}

/** Whether a path is one to which an `authorized_key` gives a mode: elsewhere nobody but who declares the path does. */
export function hasModeOfKeys(path: string): boolean {
  return path.endsWith("/.ssh") || path.endsWith("/.ssh/authorized_keys");
}

/** The name of a text, with what names its path by others: several, where one may be called so. */
export function namedBy(of: string, pathsOf: (path: string) => readonly string[]): string[] {
  const prefix = of.startsWith(modePrefix) ? modePrefix : "";
  const path = of.slice(prefix.length);
  return /^[/~]/.test(path) ? pathsOf(path).map((each) => prefix + each) : [of];
}

/** A resource with one of the texts that it is about. */
export interface TextClaim<Resource> {
  resource: Resource;
  /** What the resource is about: two that are about the same are compared as a whole elsewhere. */
  identity: string;
  /** Names the text on this machine. */
  text: string;
  edit: TextEdit;
}

/** Two resources of which one undoes what the other makes. */
export interface Fight<Resource> {
  first: Resource;
  second: Resource;
  /** The text in which they meet. */
  text: string;
  /** Whether one of them says the whole text. */
  isWhole: boolean;
}

/**
 * Finds resources that fight. What costs more than the budget is not judged.
 *
 * @param claims - In the order in which the resources are declared.
 */
export function findFights<Resource>(
  claims: readonly TextClaim<Resource>[],
  budget: WorkBudget,
): Fight<Resource>[] {
  return [...sharedTexts(claims).values()].flatMap((sharers) => fightsIn(sharers, budget));
}

/** The claims on texts that more than one thing is about, by text. */
export function sharedTexts<Claim extends Pick<TextClaim<unknown>, "text" | "identity">>(
  claims: readonly Claim[],
): Map<string, Claim[]> {
  const byText = new Map<string, Claim[]>();
  for (const claim of claims) {
    const known = byText.get(claim.text);
    if (known) known.push(claim);
    else byText.set(claim.text, [claim]);
  }
  for (const [text, sharers] of byText)
    if (sharers.every(({ identity }) => identity === sharers[0]!.identity)) byText.delete(text);
  return byText;
}

function fightsIn<Resource>(sharers: readonly TextClaim<Resource>[], budget: WorkBudget): Fight<Resource>[] {
  const seen = new Set<string>();
  const claims = sharers.filter(({ identity }) => !seen.has(identity) && seen.add(identity));
  const whole = claims.find(({ edit }) => edit.isWhole === true && edit.edit !== null);
  try {
    return whole ? fightsWith(whole, claims, budget) : fightsOfParts(claims, budget);
  } catch (error) {
    if (error instanceof WorkExceeded) return [];
    throw error;
  }
}

/** Where one says the whole text, whoever would change it fights that one; and where nobody would, nobody fights. */
function fightsWith<Resource>(
  whole: TextClaim<Resource>,
  claims: readonly TextClaim<Resource>[],
  budget: WorkBudget,
): Fight<Resource>[] {
  const at = claims.indexOf(whole);
  return claims.flatMap((claim, index) => {
    if (claim === whole || canAgree([whole, claim], budget)) return [];
    return index < at ? [fightOf(claim, whole)] : [fightOf(whole, claim)];
  });
}

/** Takes away who is first in the way of all before it, until the rest agree. */
function fightsOfParts<Resource>(
  claims: readonly TextClaim<Resource>[],
  budget: WorkBudget,
): Fight<Resource>[] {
  const found: Fight<Resource>[] = [];
  for (let left = claims; !canAgree(left, budget);) {
    const last = firstInTheWay(left, budget);
    const second = left[last]!;
    const before = left.slice(0, last);
    // Each two may get along where all of them do not.
    const first = before.find((earlier) => !canAgree([earlier, second], budget)) ?? before.at(-1);
    if (!first) return found;
    found.push(fightOf(first, second));
    left = left.filter((claim) => claim !== second);
  }
  return found;
}

/** The place of the claim with which the ones before it don't agree, though they do among themselves. */
function firstInTheWay(claims: readonly TextClaim<unknown>[], budget: WorkBudget): number {
  let [agreeing, failing] = [1, claims.length];
  while (failing - agreeing > 1) {
    const middle = (agreeing + failing) >> 1;
    if (canAgree(claims.slice(0, middle), budget)) agreeing = middle;
    else failing = middle;
  }
  return failing - 1;
}

function fightOf<Resource>(first: TextClaim<Resource>, second: TextClaim<Resource>): Fight<Resource> {
  const isWhole = first.edit.isWhole === true || second.edit.isWhole === true;
  return { first: first.resource, second: second.resource, text: first.text, isWhole };
}

/** Whether there is a text that all of them leave as it is, and to which they come in whatever order they are applied. */
function canAgree(claims: readonly TextClaim<unknown>[], budget: WorkBudget): boolean {
  const edits = claims.map(({ edit }) => edit);
  if (edits.some(({ isNoFile }) => isNoFile)) return edits.every(({ isNoFile }) => isNoFile);
  const whole = edits.find(({ isWhole, edit }) => isWhole === true && edit !== null);
  try {
    if (whole) return leaveAsIs(edits, editBy(whole, null, budget), budget);
    return [edits, edits.toReversed()].every((order) =>
      // What others have in the text is theirs: that it is empty, or is not there, is enough to see who undoes whom.
      ["", null].every((start) => {
        const made = order.reduce((text: string | null, edit) => editBy(edit, text, budget), start);
        return leaveAsIs(edits, made, budget);
      }),
    );
  } catch (error) {
    if (isOrchestratorError(error)) return false;
    throw error;
  }
}

function leaveAsIs(edits: readonly TextEdit[], text: string | null, budget: WorkBudget): boolean {
  return edits.every((edit) => editBy(edit, text, budget) === text);
}

/** What a text costs that is empty, and each character of one. */
const usualCost = { least: 100, character: 8 };

function editBy(edit: TextEdit, text: string | null, budget: WorkBudget): string | null {
  if (!edit.edit) return text;
  const { least, character } = usualCost;
  budget.take(least + (edit.cost?.(text ?? "") ?? character * (text?.length ?? 0)));
  return edit.edit(text);
}
