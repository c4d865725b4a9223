/** A category of June, which stores keep and hide for the rest of the year. */
import type { CategoryRecipe } from './cuisine.ts';

export const FESTA_JUNINA: CategoryRecipe = {
  name: 'Festa junina',
  description: 'Só em junho',
  active: false,
  products: [
    { name: 'Caldo verde', description: 'Batata, couve e linguiça, 400 ml', price: 1890, serves: 1 },
    { name: 'Canjica', description: 'Com coco e canela, 300 ml', price: 1290, serves: 1 },
  ],
};
