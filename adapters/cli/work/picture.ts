/**
 * What a terminal showed, without what would reach beyond its picture: the clipboard, the title, the keys, and questions that the operator's
 * terminal would answer as if its operator typed. Only what is known to draw goes through. A sequence may come in pieces.
 *
 *   text --ESC--> escape --[--> control --final--> text
 *                    |---]PX^_--> string --BEL, ESC \ or the end of the line--> text
 *                    |---other--> text
 */

/** Sequences longer than that draw nothing. */
const longestSequence = 64;
/** Finals of control sequences that move the cursor, erase, insert, scroll, repeat, colour, and save and restore. */
const drawing = new Set("@ABCDEFGHIJKLMPSTXZ`abdefgmrsu");
/** Modes that change the picture: those of ANSI, and the private ones for wrapping, origin, cursor and the other screen. */
const modes = {
  ansi: new Set(["4", "20"]),
  private: new Set(["6", "7", "25", "47", "1047", "1048", "1049"]),
};
/** What draws after ESC: lines, saving and restoring, tabs, beginning anew; sets of characters and tests of the screen. */
const shortEscape = /^(?:[78DEMHc]|[()][0AB]|#[3-68])$/;
/** Bell, backspace, tab, the ends of lines, and the other set of characters. */
const drawingControls = new Set([0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f]);

export class Picture {
  #state: "text" | "escape" | "control" | "string" | "stringEscape" = "text";
  /** What came of a sequence behind its introducer. */
  #sequence = "";

  /** What the next piece draws. */
  take(output: string): string {
    let drawn = "";
    for (const char of output) drawn += this.#next(char, char.codePointAt(0)!);
    return drawn;
  }

  #next(char: string, code: number): string {
    switch (this.#state) {
      case "text":
        return this.#text(char, code);
      case "escape":
        return this.#escape(char, code);
      case "control":
        return this.#control(char, code);
      case "string":
        if (code === 0x07 || code === 0x9c || code === 0x18 || code === 0x1a) this.#state = "text";
        else if (code === 0x1b) this.#state = "stringEscape";
        // A string of which the end never comes, as of a file that is no text, must not hide all that follows.
        else if (code === 0x0a) return this.#end() + char;
        return "";
      case "stringEscape":
        this.#begin("escape");
        return char === "\\" ? this.#end() : this.#escape(char, code);
    }
  }

  #text(char: string, code: number): string {
    if (code === 0x1b) this.#begin("escape");
    else if (code === 0x9b) this.#begin("control");
    else if ([0x90, 0x98, 0x9d, 0x9e, 0x9f].includes(code)) this.#begin("string");
    else if (code >= 0xa0 || (code >= 0x20 && code < 0x7f) || drawingControls.has(code)) return char;
    return "";
  }

  #escape(char: string, code: number): string {
    if (code === 0x1b) return this.#begin("escape");
    if (this.#sequence === "" && char === "[") return this.#begin("control");
    if (this.#sequence === "" && "]PX^_".includes(char)) return this.#begin("string");
    if (code < 0x20) return this.#end() + this.#text(char, code);
    this.#sequence += char;
    if (code <= 0x2f && this.#sequence.length <= longestSequence) return "";
    const sequence = this.#sequence;
    return this.#end() + (shortEscape.test(sequence) ? `\u001b${sequence}` : "");
  }

  #control(char: string, code: number): string {
    if (code === 0x1b) return this.#begin("escape");
    // Drawn within a sequence, as terminals do.
    if (code < 0x20) return drawingControls.has(code) ? char : "";
    if (code < 0x40) {
      if (this.#sequence.length <= longestSequence) this.#sequence += char;
      return "";
    }
    const parameters = this.#sequence;
    return this.#end() + drawnBy(parameters, char);
  }

  #begin(state: "escape" | "control" | "string"): "" {
    this.#state = state;
    this.#sequence = "";
    return "";
  }

  #end(): "" {
    this.#state = "text";
    return "";
  }
}

/** What a control sequence draws; empty where it draws nothing. */
function drawnBy(parameters: string, final: string): string {
  if (parameters.length > longestSequence) return "";
  if (final !== "h" && final !== "l") {
    // Intermediates and private marks make others of them: questions, keys and the like.
    return drawing.has(final) && /^[\d;:]*$/.test(parameters) ? `\u001b[${parameters}${final}` : "";
  }
  const mark = parameters.startsWith("?") ? "?" : "";
  const known = mark === "" ? modes.ansi : modes.private;
  const kept = parameters
    .slice(mark.length)
    .split(";")
    .filter((mode) => known.has(mode));
  return kept.length === 0 ? "" : `\u001b[${mark}${kept.join(";")}${final}`;
}
