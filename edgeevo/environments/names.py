"""Free strings of tasks (file stems, search words, keys, people), in three pools that never meet: one per split.

Which pool a word falls into is decided by its hash, so adding words never moves an old one. Small integers, extensions, standard
roots and log levels are shared by all: they are the trade's vocabulary, not content.
"""

from __future__ import annotations

from functools import cache

from edgeevo.domain import Split, derive_seed

_STEMS = """
access alarm albatross amber anchor apricot archive arrow asset atlas aurora autumn backlog badger bakery balcony bamboo barley basalt
basket beacon bellow birch biscuit blossom boiler border bottle boulder branch breeze bridge bronze bucket budget buffer bundle butter
cabin cable cactus calendar camera candle canvas canyon carbon cargo carpet castle catalog cedar cellar census chapel charter cherry
chimney cinder circuit citrus clover cobalt coffee collar comet compass copper coral corner cotton courier cradle crane cricket crystal
current curtain cypress dahlia daisy dawn delta depot desert device diesel dock domain dragon drawer driver dynamo eagle easel echo elbow
ember engine envelope estate falcon feather fender fennel ferry fiddle field filter finch flame flask flint forest fossil fountain
fridge frost funnel galaxy garden garnet gazelle geyser ginger glacier globe granite grape gravel guitar gutter hammer harbor harvest
hatch hazel heater heron hinge hollow honey horizon hornet inlet invoice iris island ivory jacket jasmine jersey jigsaw journal juniper
kernel kettle keypad kiosk kitchen ladder lagoon lantern lattice laurel ledger lemon lentil library lilac linen lobby locker lotus
lumber machine magnet mango manual maple marble marina market meadow melon mesa meter mirror mixer monsoon mortar mosaic motor
mountain muffin mustard nectar needle nickel nutmeg oasis ocean office olive onyx orbit orchard orchid otter outlet oxide packet paddle
palace panel panther parcel parrot pasture patch pebble pelican pepper petal piano pigeon pillar pilot piston planet plaster plaza plum
pocket polar pollen poplar portal powder prairie printer prism pulley pump puzzle quarry quartz quill rabbit radar radish raft ranch
raven recipe record reef relay report ribbon ridge river rocket roster rotor rubber saddle saffron sailor salmon sandal sapphire
satchel schedule sensor shelter shutter silver sketch sluice socket sonar sparrow spindle spiral spruce stable station statue steam
stencil studio summit sunset survey switch table tablet tanker tavern teapot temple thistle thunder ticket timber token tower tractor
trail tulip tunnel turbine turnip tuxedo umbrella valley valve vanilla velvet vessel vinegar violet visitor walnut warehouse
wharf whistle willow window winter wizard wrench yogurt zenith zephyr zinc
""".split()

_PEOPLE = """
adele ahmed alina amara andre anja anton arturo astrid bashir beatriz bela boris bruno camille carlos carmen chidi clara cyrus dalia
daniel darko diego dmitri edgar elena elias emeka emil erika esther fatima felix fiona frida gabor gemma georg greta hamid hana hector
helga hugo ida igor ilse imran ines ingrid irma isak ivan jamal jana javier jelena jonas josef julia kaito karim katja kenji klara kofi
lars leila lena leon linus luca lucia magda malik marco maria marta mateo mei mila mina moritz nadia nils nina nora olga omar oskar otto
pablo paula pedro petra pia quentin rafael raj rania rita robin rosa ruben sabine sam sana selma silas simon sofia stefan sven tamar
tariq tessa theo tomas ulrich uma vera viktor walter wanda xenia yara yusuf zara zoe
""".split()


def split_of_string(word: str) -> Split:
    """Which pool a free string belongs to: six of ten for practice, two each for exam and audit, by hash."""
    bucket = derive_seed("pool", word) % 10
    return Split.PRACTICE if bucket < 6 else Split.EXAM if bucket < 8 else Split.AUDIT


@cache
def stems(split: Split) -> tuple[str, ...]:
    """Neutral nouns for names, words and keys of one split."""
    return tuple(word for word in _STEMS if split_of_string(word) is split)


@cache
def people(split: Split) -> tuple[str, ...]:
    """Given names of one split."""
    return tuple(word for word in _PEOPLE if split_of_string(word) is split)
