/** A Japanese restaurant, open in the evening. */
import type { Cuisine } from './cuisine.ts';
import { DRINKS } from './drinks.ts';
import { FESTA_JUNINA } from './seasonal.ts';

export const japonesa: Cuisine = {
  key: 'japonesa',
  names: ['{} Sushi', 'Temakeria {}', 'Sabor do Japão – {}'],
  opens: {
    days: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'],
    from: '17:30',
    to: '23:00',
  },
  minimumOrder: 4000,
  indoor: true,
  categories: [
    {
      name: 'Combinados',
      description: 'Montados na hora do pedido',
      products: [
        {
          name: 'Combinado 20 peças',
          description: 'Sashimis, niguiris e uramakis do dia',
          price: 6990,
          groups: ['extras'],
          serves: 1,
        },
        {
          name: 'Combinado 40 peças',
          description: 'Para duas pessoas, com hot roll',
          price: 12990,
          groups: ['extras'],
          serves: 2,
        },
        { name: 'Combinado salmão', description: '24 peças, só de salmão', price: 8990, groups: ['extras'] },
      ],
    },
    {
      name: 'Temakis',
      products: [
        {
          name: 'Temaki de salmão',
          description: 'Salmão, arroz e cebolinha',
          price: 3290,
          groups: ['temaki', 'extras'],
        },
        {
          name: 'Temaki de atum',
          description: 'Atum, arroz e gergelim',
          price: 3490,
          groups: ['temaki', 'extras'],
        },
        {
          name: 'Temaki vegetariano',
          description: 'Pepino, manga e cream cheese',
          price: 2690,
          groups: ['extras'],
        },
      ],
    },
    {
      name: 'Pratos quentes',
      products: [
        { name: 'Yakisoba misto', description: 'Carne, frango e legumes', price: 4290 },
        { name: 'Hot roll 10 unidades', description: 'Salmão e cream cheese empanados', price: 2990 },
        { name: 'Guioza 6 unidades', description: 'Recheio suíno, na chapa', price: 2590 },
      ],
    },
    DRINKS,
    FESTA_JUNINA,
  ],
  optionGroups: {
    temaki: {
      name: 'Como prefere',
      min: 1,
      max: 1,
      priceMethod: 'sum',
      options: [
        ['Com cream cheese', 300],
        ['Sem cream cheese', 0],
        ['Empanado', 450],
      ],
    },
    extras: {
      name: 'Acompanhamentos',
      min: 0,
      max: 3,
      priceMethod: 'sum',
      options: [
        ['Shoyu extra', 150],
        ['Tarê extra', 200],
        ['Gengibre', 0],
        ['Raiz-forte', 0],
      ],
    },
  },
};
