/** Places where the text of a message can be cut, so that each piece can be parsed by itself and put to what the pieces before made. */

/** Numbers of one level in {@link TextCut.levels}. */
export const levelWords = 4;

/** A place where a text is cut. */
export interface TextCut {
  /** Of a comma between two members; in a string, of what begins the rest of it. */
  readonly at: number;
  readonly isInString: boolean;
  /**
   * Of each list or object that is open there, the outermost first: commas of its own before the place, where it was opened, where the
   * member begins that the place is in, and the last colon of its own.
   */
  readonly levels: Int32Array;
}

/** One list or object that is open at a cut. */
export interface OpenLevel {
  readonly isList: boolean;
  readonly openedAt: number;
  readonly memberAt: number;
  readonly colonAt: number;
}

const openList = 0x5b;

/** What is open at a cut of a text, the outermost first. */
export function openLevels(text: Uint8Array, { levels }: TextCut): OpenLevel[] {
  const open: OpenLevel[] = [];
  for (let at = 0; at < levels.length; at += levelWords) {
    const [openedAt = 0, memberAt = 0, colonAt = 0] = levels.subarray(at + 1, at + levelWords);
    open.push({ isList: text[openedAt] === openList, openedAt, memberAt, colonAt });
  }
  return open;
}
