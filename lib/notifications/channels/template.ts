/**
 * Words of a channel's own for its messages: text in which `{{ name }}` stands for what the message says.
 *
 * A value is put in once and as it is: nothing in it is read as a name, and each type of channels takes its markup away as ever.
 */
import { z } from "zod";
import type { Message } from "../senders/sender.ts";
import { oneLine } from "../senders/text.ts";

/** What may stand in a template, and where a message has it. */
const values = {
  title: ({ title }: Message) => title,
  body: ({ body }: Message) => body,
  severity: ({ severity }: Message) => severity,
  event_type: ({ event_type }: Message) => event_type,
  created_at: ({ created_at }: Message) => created_at,
  id: ({ id }: Message) => id,
  "subject.type": ({ subject }: Message) => subject.type,
  "subject.id": ({ subject }: Message) => subject.id,
  "subject.name": ({ subject }: Message) => subject.name ?? subject.id,
} as const;

type Name = keyof typeof values;

const placeholder = /\{\{\s*([\w.]+)\s*\}\}/g;
const names = Object.keys(values).join(", ");

// Not as patterns of the schema: validators of other languages have no such classes.
const isLine = /^[^\p{C}\p{Zl}\p{Zp}]+$/u;
const isPlain = /^(?:[^\p{Cc}\p{Cs}]|[\n\t])*$/u;

const isKnown = (name: string): name is Name => Object.hasOwn(values, name);

/** Whether each `{{` begins a name that there is, and each `}}` ends one. */
function isReadable(text: string): boolean {
  const rest = text.replace(placeholder, (found, name: string) => (isKnown(name) ? "" : found));
  return !/\{\{|\}\}/.test(rest);
}

const text = (schema: z.ZodString): z.ZodString =>
  schema.refine(isReadable, `may have {{ name }} of these alone: ${names}`);

/** Words of a channel's own. */
export const templateSchema = z.strictObject({
  title: text(
    z
      .string()
      .min(1)
      .max(500)
      .refine((words) => isLine.test(words), "must be one line of text"),
  )
    .optional()
    .describe("The title. Default `{{ title }}`."),
  body: text(
    z
      .string()
      .max(4_000)
      .refine((words) => isPlain.test(words), "must be text; lines end with a line feed"),
  )
    .optional()
    .describe("The body. Default `{{ body }}`."),
});

/** Words of a channel's own; what is absent is told as it comes. */
export type Template = z.infer<typeof templateSchema>;

/** The message in the words of a channel. */
export function inWordsOf(template: Template | undefined, message: Message): Message {
  if (!template) return message;
  const fill = (words: string): string =>
    words.replace(placeholder, (found, name: string) => (isKnown(name) ? values[name](message) : found));
  return {
    ...message,
    ...(template.title !== undefined && { title: oneLine(fill(template.title)) }),
    ...(template.body !== undefined && { body: fill(template.body) }),
  };
}
