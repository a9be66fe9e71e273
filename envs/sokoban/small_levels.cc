// The embedded levels, drawn for Lodestep; every one can be won (a test plays each to its end).
#include "envs/sokoban/level_pack.h"

#include "base/check.h"

namespace lodestep::sokoban {
namespace {

constexpr std::string_view kLevels = R"levels(
; one push
#####
#@$.#
#####

; long corridor
########
#@ $  .#
########

; round the back
######
#    #
# .$@#
#    #
######

; up the stairs
######
#.   #
##   #
# $  #
#  @ #
######

; behind the pillar
#######
#  .  #
# # # #
#  $  #
#  @  #
#######

; two in a row
#######
#.   .#
# $ $ #
#  @  #
#######

; side pocket
######
##.  #
##   #
#@$  #
#    #
######

; letter box
#######
#     #
# #$  #
#  @. #
#     #
#######

; crossed pair
#######
#  .  #
# $   #
#.  $ #
#   @ #
#######

; on and off
#######
#     #
# *   #
# $@. #
#     #
#######

; door in the wall
########
#  #   #
#   $ .#
#@ #   #
########

; turn the corner
#######
#    .#
# ### #
# $   #
#  @  #
#######

; little square
######
#    #
# $$ #
# .. #
#  @ #
######

; narrow cross
#######
###.###
###$###
#.$@  #
### ###
### ###
#######

; bottom shelf
#######
#  @  #
# $ $ #
#     #
##. .##
#######

; ring road
########
#      #
# ##$# #
# #  # #
# #    #
#   @ .#
########

; staggered
########
#   #  #
# $   .#
#   $# #
#.  @  #
########

; three friends
########
#      #
# $$$  #
# @... #
#      #
########

; back door
#######
##   ##
#  $  #
# .#@ #
#     #
#######

; switchback
########
#@    ##
# ##$ ##
#     ##
### #  #
##    .#
########

; twin rooms
#########
#   #   #
# $   . #
#   #   #
# .   $ #
#   #@  #
#########

; keyhole
#######
#     #
#   $ #
##. ###
#    @#
#     #
#######

; far corner
########
#.     #
#      #
#  ##  #
#   $@ #
#      #
########

; three corners
########
#.    .#
#  $$  #
#  $@  #
#.     #
########

; low bridge
#######
#  .  #
#     #
## # ##
# $ $ #
#. @  #
#######

; storeroom
########
#..    #
#..#   #
#  $ $ #
#  $ $ #
#   @  #
########

; column
######
#  @ #
# $  #
# .  #
# $  #
# .  #
######

; diagonal
########
#@     #
# $    #
#  $   #
#   $  #
#  ... #
########

; parking
########
###  ###
#  $   #
# $  . #
#  ## .#
#@     #
########

; last four
########
#  ..  #
#  $$  #
# $  $ #
# .@ . #
#      #
########
)levels";

}  // namespace

LevelPack LevelPack::small() {
  Result<LevelPack> pack = parse(kLevels, "small.xsb", KeepSolved::kNo);
  LODESTEP_CHECK(pack.ok(), pack.error());
  return std::move(*pack);
}

}  // namespace lodestep::sokoban
