/** An açaí bar, open in the afternoon and evening. */
import type { Cuisine } from './cuisine.ts';
import { DRINKS } from './drinks.ts';
import { FESTA_JUNINA } from './seasonal.ts';

const TOPPINGS = ['complementos', 'caldas'];

export const acaiteria: Cuisine = {
  key: 'acaiteria',
  names: ['Açaí {}', 'Casa do Açaí {}', '{} Açaí e Sorvetes'],
  opens: {
    days: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'],
    from: '13:00',
    to: '22:00',
  },
  minimumOrder: 1500,
  indoor: false,
  categories: [
    {
      name: 'Açaí no copo',
      products: [
        { name: 'Açaí 300 ml', description: 'Batido com banana e guaraná', price: 1690, groups: TOPPINGS },
        { name: 'Açaí 500 ml', description: 'Batido com banana e guaraná', price: 2290, groups: TOPPINGS },
        { name: 'Açaí 700 ml', description: 'Batido com banana e guaraná', price: 2890, groups: TOPPINGS },
      ],
    },
    {
      name: 'Na tigela',
      products: [
        {
          name: 'Barca de açaí',
          description: '1 kg, para três pessoas',
          price: 5990,
          groups: TOPPINGS,
          serves: 3,
        },
        { name: 'Tigela fit', description: 'Açaí puro, granola sem açúcar e frutas', price: 2790 },
      ],
    },
    {
      name: 'Sorvetes',
      products: [
        { name: 'Sorvete de creme 2 bolas', description: 'Com casquinha', price: 1290, groups: ['caldas'] },
        { name: 'Picolé de fruta', description: 'Limão, morango ou uva', price: 690, packaged: true },
      ],
    },
    DRINKS,
    FESTA_JUNINA,
  ],
  optionGroups: {
    complementos: {
      name: 'Complementos',
      min: 1,
      max: 5,
      priceMethod: 'sum',
      options: [
        ['Granola', 0, 'Com castanhas'],
        ['Leite em pó', 0],
        ['Banana', 0],
        ['Morango', 350],
        ['Paçoca', 200],
        ['Creme de avelã', 500],
      ],
    },
    caldas: {
      name: 'Caldas',
      min: 0,
      max: 1,
      priceMethod: 'sum',
      options: [
        ['Leite condensado', 150],
        ['Chocolate', 200],
        ['Mel', 200],
      ],
    },
  },
};
