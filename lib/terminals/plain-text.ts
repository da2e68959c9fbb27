/**
 * Text of a terminal without anything that a terminal would obey: no control sequence, no title, no clipboard, no cursor. It goes
 * through character by character, so that a sequence that comes in pieces is taken out, too.
 *
 *   text --ESC--> escape --[--> control --final--> text
 *                    |---]PX^_--> string --BEL or ESC \--> text
 *                    |---other--> text
 *
 * The end of a line ends a sequence, too: one of which the end never comes, as of a file that is no text, hides nothing behind its line.
 */

/** A line is broken after so many characters, so that nobody has to hold one without end. */
const longestLine = 65_536;

const plainRun = /[ -~]+/y;

/** Takes what a terminal would obey out of its output. */
export class PlainText {
  #state: "text" | "escape" | "intermediate" | "control" | "string" | "stringEscape" = "text";
  #column = 0;
  #wasReturn = false;

  /** The text of the next piece of output. */
  take(output: string): string {
    let text = "";
    for (let at = 0; at < output.length;) {
      const run = this.#runAt(output, at);
      const char = String.fromCodePoint(output.codePointAt(at)!);
      text += run === "" ? this.#next(char) : run;
      at += run === "" ? char.length : run.length;
    }
    return text;
  }

  /** Letters in a row, which are most of all output, go through together. */
  #runAt(output: string, at: number): string {
    if (this.#state !== "text" || this.#wasReturn) return "";
    plainRun.lastIndex = at;
    const run = (plainRun.exec(output)?.[0] ?? "").slice(0, longestLine - 1 - this.#column);
    this.#column += run.length;
    return run;
  }

  #next(char: string): string {
    const code = char.codePointAt(0)!;
    // Whatever was begun ends with its line.
    if (code === 0x0a) this.#state = "text";
    switch (this.#state) {
      case "text":
        return this.#text(char, code);
      case "escape":
        this.#state = afterEscape(code);
        return "";
      case "intermediate":
        if (code >= 0x30) this.#state = "text";
        return "";
      case "control":
        // Any other than its own characters ends it, as it does for a terminal.
        if (code === 0x1b) this.#state = "escape";
        else if (code < 0x20 || code > 0x3f) this.#state = "text";
        return "";
      case "string":
        if (code === 0x07 || code === 0x9c || code === 0x18 || code === 0x1a) this.#state = "text";
        else if (code === 0x1b) this.#state = "stringEscape";
        return "";
      case "stringEscape":
        this.#state = code === 0x5c ? "text" : afterEscape(code);
        return "";
    }
  }

  #text(char: string, code: number): string {
    if (code === 0x0a) return this.#newline();
    if (code === 0x0d) this.#wasReturn = true;
    else if (code === 0x1b) this.#state = "escape";
    else if (code === 0x9b) this.#state = "control";
    else if (code === 0x90 || code === 0x98 || code === 0x9d || code === 0x9e || code === 0x9f)
      this.#state = "string";
    else if (
      code === 0x09 ||
      (code >= 0x20 && code !== 0x7f && !(code >= 0x80 && code <= 0x9f) && !isHidden(code))
    )
      return this.#shown(char);
    return "";
  }

  #shown(char: string): string {
    // The cursor went back to the beginning of the line, whatever it was told since: this stands in place of what was there, and in a line
    // of its own here.
    const before = this.#wasReturn && this.#column > 0 ? this.#newline() : "";
    this.#wasReturn = false;
    this.#column += 1;
    if (this.#column < longestLine) return before + char;
    return before + char + this.#newline();
  }

  #newline(): string {
    this.#column = 0;
    this.#wasReturn = false;
    return "\n";
  }
}

function afterEscape(code: number): "text" | "escape" | "intermediate" | "control" | "string" {
  if (code === 0x5b) return "control";
  if (code === 0x5d || code === 0x50 || code === 0x58 || code === 0x5e || code === 0x5f) return "string";
  if (code === 0x1b) return "escape";
  return code >= 0x20 && code <= 0x2f ? "intermediate" : "text";
}

/** Marks that turn the direction of text round, and separators of lines: they would show another text than there is. */
function isHidden(code: number): boolean {
  return (
    code === 0x061c ||
    (code >= 0x200e && code <= 0x200f) ||
    (code >= 0x2028 && code <= 0x202e) ||
    (code >= 0x2066 && code <= 0x2069)
  );
}
