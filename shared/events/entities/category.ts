/** The state of a category, as `store-data.category.changed` carries it (rules R9.11, R12.3). */
import { Type } from 'typebox';
import { absent, Flag, ImageUrl, Instant, Name, Prose, Whole } from '../fields.ts';

export const CategoryState = Type.Object({
  name: Name,
  description: absent(Prose),
  position: Whole,
  active: Flag,
  image_url: absent(ImageUrl),
  created_at: absent(Instant),
  updated_at: absent(Instant),
});
export type CategoryState = Type.Static<typeof CategoryState>;
