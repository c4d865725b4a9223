/** Drinks that every kind of store sells. */
import type { CategoryRecipe } from './cuisine.ts';

export const DRINKS: CategoryRecipe = {
  name: 'Bebidas',
  description: 'Sempre geladas',
  products: [
    {
      name: 'Refrigerante lata 350 ml',
      description: 'Cola, guaraná ou laranja',
      price: 690,
      packaged: true,
    },
    { name: 'Guaraná 2 litros', description: 'Garrafa de 2 litros, gelada', price: 1490, packaged: true },
    { name: 'Suco de laranja 500 ml', description: 'Espremido na hora, sem açúcar', price: 1190 },
    { name: 'Água mineral 500 ml', description: 'Com ou sem gás', price: 490, packaged: true },
  ],
};
