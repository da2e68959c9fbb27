/** How long the expressions of a template are: the package takes much longer for one long expression than for many short ones. */
import type { Token } from "liquidjs";
import { moduleLimits } from "../module-schema.ts";
import { liquidPackage } from "../packages.ts";
import type { TemplateFault } from "../template.ts";

/** What of a text is too long to be read; null where nothing is. The package throws where it can't tell expressions from text. */
export function findTooLong(text: string): TemplateFault | null {
  const { TokenKind, Tokenizer } = liquidPackage();
  const { expressionLength, expressionLengthOfText } = moduleLimits;
  let together = 0;
  for (const { kind, begin, end } of new Tokenizer(text).readTopLevelTokens() as Token[]) {
    if (kind === TokenKind.HTML) continue;
    const length = end - begin;
    together += length;
    if (length > expressionLength)
      return { message: `this expression is longer than ${expressionLength} characters`, offset: begin };
    if (together > expressionLengthOfText)
      return {
        message: `the expressions of this text are longer than ${expressionLengthOfText} characters together`,
        offset: begin,
      };
  }
  return null;
}
