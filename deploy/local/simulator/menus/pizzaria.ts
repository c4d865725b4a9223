/** A pizzeria, open in the evening; half-and-half pizzas cost what their dearer half costs. */
import type { Cuisine } from './cuisine.ts';
import { DRINKS } from './drinks.ts';
import { FESTA_JUNINA } from './seasonal.ts';

const EXTRAS = ['borda', 'adicionais'];

export const pizzaria: Cuisine = {
  key: 'pizzaria',
  names: ['Pizzaria {}', 'Forno de {}', 'Cantina {}'],
  opens: {
    days: ['tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'],
    from: '18:00',
    to: '23:30',
  },
  minimumOrder: 3000,
  indoor: true,
  categories: [
    {
      name: 'Pizzas tradicionais',
      description: 'Oito fatias, massa de fermentação lenta',
      products: [
        {
          name: 'Pizza margherita',
          description: 'Molho de tomate, muçarela, tomate e manjericão',
          price: 5490,
          groups: EXTRAS,
          serves: 3,
        },
        {
          name: 'Pizza calabresa',
          description: 'Calabresa fatiada, cebola e azeitonas',
          price: 5290,
          groups: EXTRAS,
          serves: 3,
        },
        {
          name: 'Pizza portuguesa',
          description: 'Presunto, ovos, cebola, ervilha e muçarela',
          price: 5890,
          groups: EXTRAS,
          serves: 3,
        },
        {
          name: 'Pizza frango com requeijão',
          description: 'Frango desfiado e requeijão cremoso',
          price: 5790,
          groups: EXTRAS,
          serves: 3,
        },
      ],
    },
    {
      name: 'Pizzas especiais',
      products: [
        {
          name: 'Pizza quatro queijos',
          description: 'Muçarela, provolone, parmesão e gorgonzola',
          price: 6490,
          groups: EXTRAS,
          serves: 3,
        },
        {
          name: 'Pizza da casa',
          description: 'Lombo canadense, alho-poró e queijo minas',
          price: 6890,
          groups: EXTRAS,
          serves: 3,
        },
        {
          name: 'Pizza meio a meio',
          description: 'Escolha dois sabores: vale o de maior preço',
          price: 0,
          groups: ['sabores', 'borda'],
          serves: 3,
        },
      ],
    },
    {
      name: 'Pizzas doces',
      products: [
        { name: 'Pizza de banana com canela', description: 'Banana, canela e leite condensado', price: 4490 },
        { name: 'Pizza de brigadeiro', description: 'Chocolate ao leite e granulado', price: 4790 },
        {
          name: 'Pizza doce meio a meio',
          description: 'Escolha dois sabores: vale a média dos preços',
          price: 0,
          groups: ['sabores_doces'],
          serves: 3,
        },
      ],
    },
    DRINKS,
    FESTA_JUNINA,
  ],
  optionGroups: {
    sabores: {
      name: 'Sabores',
      min: 2,
      max: 2,
      priceMethod: 'max',
      options: [
        ['Margherita', 5490, 'Tomate e manjericão'],
        ['Calabresa', 5290, 'Calabresa fatiada e cebola'],
        ['Portuguesa', 5890, 'Presunto, ovos e ervilha'],
        ['Quatro queijos', 6490, 'Muçarela, provolone, parmesão e gorgonzola'],
        ['Da casa', 6890, 'Lombo canadense e alho-poró'],
      ],
    },
    sabores_doces: {
      name: 'Sabores doces',
      min: 2,
      max: 2,
      priceMethod: 'average',
      options: [
        ['Banana com canela', 4490, 'Com leite condensado'],
        ['Brigadeiro', 4790, 'Chocolate ao leite e granulado'],
        ['Romeu e Julieta', 4690, 'Goiabada e queijo minas'],
      ],
    },
    borda: {
      name: 'Borda recheada',
      min: 0,
      max: 1,
      priceMethod: 'sum',
      options: [
        ['Requeijão', 900],
        ['Cheddar', 900],
        ['Chocolate', 1100],
      ],
    },
    adicionais: {
      name: 'Adicionais',
      min: 0,
      max: 3,
      priceMethod: 'sum',
      options: [
        ['Muçarela extra', 700],
        ['Bacon', 800],
        ['Azeitonas', 400],
        ['Manjericão', 0],
      ],
    },
  },
};
