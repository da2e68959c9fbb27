/** Properties of a `user`, and those of a captured one. */
import { z } from "zod";
import { dayMs } from "../../../internal/durations.ts";
import { accountIdSchema, accountNameSchema, membershipSchema } from "../shared/accounts.ts";
import { groupRowsSchema, membershipPlaceSchema } from "../shared/group-rows.ts";
import { accountSchema, ensureSchema, pathSchema } from "../shared/properties.ts";

/** What a field of an account file may hold: a colon or a line break would be another field or account. */
const fieldSchema = z
  .string()
  .max(256)
  // eslint-disable-next-line no-control-regex -- control characters end a field or confuse who prints it
  .regex(/^[^:\u0000-\u001f\u007f]*$/, "must not hold colons or control characters");

const fieldPathSchema = pathSchema.and(fieldSchema);

const expiresSchema = z.union([z.literal("never"), z.iso.date()]);

/** A day that no date of four digits names. */
const lateDay = /^day (\d+)$/;

export const userSchema = z.strictObject({
  name: accountNameSchema,
  ensure: ensureSchema.default("present"),
  /** Default: the next free one. */
  uid: accountIdSchema.optional(),
  /** Primary group, by name or number. Default: the group with the user's name, which is made with a new user. */
  group: accountSchema.optional(),
  /** Supplementary groups. Default: left as they are. */
  groups: z.array(accountNameSchema).max(1000).optional(),
  /** "minimum": the groups are among those of the user. "inclusive": there are no others. */
  membership: membershipSchema.default("minimum"),
  /** Default for a new user: as the machine has it, mostly /home and the name. A change moves no files. */
  home: fieldPathSchema.optional(),
  /** Makes the home of a new user. Default: true, but false for a `system` user. */
  create_home: z.boolean().optional(),
  shell: fieldPathSchema.optional(),
  /** Full name or purpose. */
  comment: fieldSchema.optional(),
  /** Takes the number of a new user from those for the system. */
  system: z.boolean().default(false),
  /** As crypt(3) writes it, "$6$..."; "*" = no password fits. Never shown. Default: a new user has none, others keep theirs. */
  password_hash: z
    .string()
    .max(512)
    .regex(
      /^(?:\*|\$[0-9A-Za-z]+\$[!-9;-~]+)$/,
      'must be a hash as crypt(3) writes it, like "$6$...", or "*"',
    )
    .optional(),
  /** Whether the password is locked; keys still work. */
  locked: z.boolean().optional(),
  /** First day on which nobody can sign in, as "2027-01-31"; or "never". */
  expires: expiresSchema.optional(),
  /** When the user goes, its home and mail go too: with "absent", or on removal of a user and home that we made. */
  remove_home: z.boolean().default(false),
});

/** What a field of an account file held: more than may be declared. */
const storedFieldSchema = z.string().regex(/^[^:\n]*$/);

const lastDay = Date.UTC(9999, 11, 31) / dayMs;

const rangeSchema = z.string().regex(/^\d{1,10}:\d{1,10}$/);

export const userPriorSchema = userSchema.extend({
  /** As they stood: a folder of the system, one with a slash at its end, none at all. */
  home: storedFieldSchema.optional(),
  shell: storedFieldSchema.optional(),
  comment: storedFieldSchema.optional(),
  group: storedFieldSchema.optional(),
  groups: z.array(storedFieldSchema).optional(),
  expires: z.union([expiresSchema, z.string().regex(lateDay)]).optional(),
  /** The password field as it stood. */
  shadow: fieldSchema.max(512).optional(),
  /** The ages of the password as they stood: fields 3 to 7 of /etc/shadow. */
  ages: z
    .string()
    .regex(/^-?\d*(?::-?\d*){4}$/)
    .optional(),
  /** Its ranges of subordinate numbers as they stood, each "first:count". */
  subordinates: z.strictObject({ uids: z.array(rangeSchema), gids: z.array(rangeSchema) }).optional(),
  /** Number of the primary group, to make it again where it went with its user. */
  group_gid: accountIdSchema.optional(),
  /** Where it stood in the lists of that group, for when it is made again. */
  group_place: membershipPlaceSchema.optional(),
  /** Groups that it was declared to be in and was not: it leaves them, and stays in all others that it is in by then. */
  left_groups: z.array(storedFieldSchema).optional(),
  /** Where it stood in the lists of its groups. */
  memberships: z.array(membershipPlaceSchema).optional(),
  /** The rows of its primary group, which goes with it. */
  group_rows: groupRowsSchema.optional(),
  /** Nothing is said of what was left alone: a user who is gone by then does not come back. */
  only_if_there: z.boolean().optional(),
  /** Whether the group with the user's name is not ours to remove with it. */
  keep_group: z.boolean().optional(),
  /** The home that was made for the user: no other goes. Absent in what earlier versions noted: the one that is the user's then. */
  made_home: storedFieldSchema.optional(),
});

/** Properties of a `user`, and those of a captured one. */
export type UserSpec = z.infer<typeof userPriorSchema>;

/** Whether a new user gets a home made. */
export function createsHome({ create_home, system }: UserSpec): boolean {
  return create_home ?? !system;
}

/** The home that goes with its user; null = it stays. One that was made for the user goes only while it is the user's. */
export function leavingHome({ remove_home, made_home }: UserSpec, home = ""): string | null {
  return remove_home && home !== "" && (made_home ?? home) === home ? home : null;
}

/** The property `expires` as account files write it: days since 1970, "" for never. */
export function toExpiresDay(expires: string): string {
  const [, day] = lateDay.exec(expires) ?? [];
  if (day !== undefined) return day;
  return expires === "never" ? "" : String(Date.parse(`${expires}T00:00:00Z`) / dayMs);
}

/** The property `expires` of what an account file says. */
export function fromExpiresDay(day: number | null): string {
  if (day === null) return "never";
  return day > lastDay ? `day ${day}` : new Date(day * dayMs).toISOString().slice(0, 10);
}
