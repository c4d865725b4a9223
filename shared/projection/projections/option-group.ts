/** Option groups: the list record, and what of it the menu shows. */
import type { OptionGroupState } from '../../events/entities/option-group.ts';
import { foldName } from '../../read-models/folding.ts';
import type { Projection } from './projection.ts';

export const optionGroupProjection: Projection<'option_group'> = {
  project({ id, state }) {
    const options = state.options
      .map(optionRecord)
      .sort((a, b) => a.position - b.position || (a.id < b.id ? -1 : 1));
    const group = (shown: typeof options) =>
      JSON.stringify({
        id,
        name: state.name,
        min: state.min,
        max: state.max,
        price_method: state.price_method ?? null,
        position: state.position ?? 0,
        external_code: state.external_code ?? null,
        options: shown,
      });
    return {
      name_key: foldName(state.name),
      summary: group(options),
      active_summary: group(options.filter(({ active }) => active)),
    };
  },
};

function optionRecord(option: OptionGroupState['options'][number]) {
  return {
    id: option.id,
    name: option.name,
    description: option.description ?? null,
    price: option.price,
    max_quantity: option.max_quantity ?? null,
    active: option.active ?? true,
    position: option.position ?? 0,
    external_code: option.external_code ?? null,
  };
}
